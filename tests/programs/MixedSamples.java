import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * A thread that computes, four that sleep and one that does both, for so many milliseconds, to be sampled by a profiler.
 * Prints for each thread its CPU time by its own clock and how long it lived, in nanoseconds.
 */
public final class MixedSamples {
    private static final ThreadMXBean CLOCKS = ManagementFactory.getThreadMXBean();
    private static volatile double sink;

    private MixedSamples() {}

    static void burn(long nanos) {
        long end = System.nanoTime() + nanos;
        double x = 1;
        while (System.nanoTime() < end) {
            x += Math.sqrt(x);
        }
        sink = x;
    }

    static void nap(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Thread start(String name, Runnable work) {
        Thread thread = new Thread(() -> {
            long begin = System.nanoTime();
            work.run();
            long lived = System.nanoTime() - begin;
            System.out.println(name + " " + CLOCKS.getCurrentThreadCpuTime() + " " + lived);
        }, name);
        thread.start();
        return thread;
    }

    public static void main(String[] args) throws InterruptedException {
        int ms = Integer.parseInt(args[0]);
        Thread[] threads = new Thread[6];
        threads[0] = start("burner", () -> burn(ms * 1_000_000L));
        threads[1] = start("both", () -> {
            for (long end = System.nanoTime() + ms * 1_000_000L; System.nanoTime() < end; ) {
                burn(20_000_000);
                nap(20);
            }
        });
        for (int i = 2; i < threads.length; i++) {
            threads[i] = start("sleeper-" + i, () -> nap(ms));
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
