package headway.workloads;

import java.nio.charset.StandardCharsets;

/**
 * Ends in a chosen way, after fixed bytes on standard output and standard error.
 *
 * <p>Arguments: "code" N, "halt" N, "exception", "signal" NAME (raises it in itself), "hooks" N (a shutdown hook prints), or
 * "echo" (copies standard input).
 */
public final class Exit {
    private Exit() {}

    public static void main(String[] args) throws Exception {
        System.out.write("out: caf\u00e9 \u0001\n".getBytes(StandardCharsets.UTF_8));
        System.err.write("err: <&>\n".getBytes(StandardCharsets.UTF_8));
        System.out.flush();
        System.err.flush();
        String how = args.length > 0 ? args[0] : "code";
        switch (how) {
            case "code" -> System.exit(Work.argument(args, 1, 0));
            case "halt" -> Runtime.getRuntime().halt(Work.argument(args, 1, 0));
            case "exception" -> throw new IllegalStateException("as asked");
            case "signal" -> raise(args[1]);
            case "hooks" -> {
                Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
                System.exit(Work.argument(args, 1, 0));
            }
            case "echo" -> System.in.transferTo(System.out);
            default -> throw new IllegalArgumentException(how);
        }
    }

    private static void raise(String signal) throws Exception {
        String me = Long.toString(ProcessHandle.current().pid());
        new ProcessBuilder("kill", "-" + signal, me).inheritIO().start().waitFor();
        Thread.sleep(10_000); // a signal that does not end the JVM is a failed test
    }
}
