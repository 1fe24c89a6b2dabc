package headway.workloads;

import java.lang.management.ManagementFactory;

/**
 * Says whether this JVM can be trusted as an oracle: its clocks, its processors, and how a CPU clock compares with wall time.
 *
 * <p>Arguments: milliseconds of CPU time to burn (200).
 */
public final class SelfCheck {
    private SelfCheck() {}

    public static void main(String[] args) {
        long nanos = Work.argument(args, 0, 200) * 1_000_000L;
        long wall = System.nanoTime();
        long cpu = Work.cpuNanos();
        Work.burnCpu(nanos);
        cpu = Work.cpuNanos() - cpu;
        wall = System.nanoTime() - wall;
        long step = Long.MAX_VALUE;
        for (int i = 0; i < 1000; i++) {
            long a = System.nanoTime();
            long b = System.nanoTime();
            if (b > a) {
                step = Math.min(step, b - a);
            }
        }
        Report.of("self_check").put("now_ns", System.nanoTime()).put("burnt_cpu_ns", cpu).put("burnt_wall_ns", wall)
                .put("clock_step_ns", step).put("available_processors", Runtime.getRuntime().availableProcessors())
                .put("pid", ProcessHandle.current().pid()).put("java_version", System.getProperty("java.version"))
                .put("input_arguments", String.join(" ", ManagementFactory.getRuntimeMXBean().getInputArguments())).print();
    }
}
