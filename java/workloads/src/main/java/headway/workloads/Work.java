package headway.workloads;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.function.BooleanSupplier;

/** Work measured by the CPU clock: on a machine whose host takes CPU time away, wall time says nothing about work done. */
public final class Work {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    /** Where results go, so that no compiler can leave the work out. */
    public static volatile double sink;

    private Work() {}

    /** The calling thread's CPU time so far. */
    public static long cpuNanos() {
        return THREADS.getCurrentThreadCpuTime();
    }

    /** Another thread's CPU time so far; -1 once it has ended. */
    public static long cpuNanos(Thread thread) {
        return THREADS.getThreadCpuTime(thread.getId());
    }

    /** Computes, without blocking, until the calling thread has used {@code nanos} more of CPU time. */
    public static void burnCpu(long nanos) {
        long until = cpuNanos() + nanos;
        double x = 1.0;
        while (cpuNanos() < until) {
            x = spin(x, 20_000);
        }
        sink = x;
    }

    /** A fixed amount of computing, about 20 microseconds per 10,000 rounds. */
    public static double spin(double x, int rounds) {
        for (int i = 0; i < rounds; i++) {
            x = x * 1.0000001 + 1e-9;
        }
        return x > 1e100 ? 1.0 : x;
    }

    /** The first argument as a number, or {@code otherwise}. */
    public static int argument(String[] args, int index, int otherwise) {
        return args.length > index ? Integer.parseInt(args[index]) : otherwise;
    }

    public static String argument(String[] args, int index, String otherwise) {
        return args.length > index ? args[index] : otherwise;
    }

    public static double argument(String[] args, int index, double otherwise) {
        return args.length > index ? Double.parseDouble(args[index]) : otherwise;
    }

    /** Sleeps: neither a park nor a wait, on any JDK. */
    public static void sleep(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Sleeps in short naps until {@code done}: a hand-over that no lock profiler sees. */
    public static void await(BooleanSupplier done) {
        while (!done.getAsBoolean()) {
            sleep(1);
        }
    }

    /** Joins without a checked exception: an interrupt ends a known-answer program with an error. */
    public static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
