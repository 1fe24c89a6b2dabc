package headway.workloads;

import java.io.IOException;
import java.nio.file.Path;

/**
 * Starts a JVM of its own that runs {@link Phases}, and passes its output on.
 *
 * <p>Arguments: those of Phases.
 */
public final class ChildJvm {
    private ChildJvm() {}

    public static void main(String[] args) throws IOException, InterruptedException {
        String java = Path.of(System.getProperty("java.home"), "bin", "java").toString();
        String[] command = new String[4 + args.length];
        command[0] = java;
        command[1] = "-cp";
        command[2] = System.getProperty("java.class.path");
        command[3] = "headway.workloads.Phases";
        System.arraycopy(args, 0, command, 4, args.length);
        Process child = new ProcessBuilder(command).inheritIO().start();
        int code = child.waitFor();
        Report.of("child").put("pid", ProcessHandle.current().pid()).put("child_pid", child.pid()).put("exit", code).print();
    }
}
