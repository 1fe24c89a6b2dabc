import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * One thread after the other computes below a deep stack. Arguments: threads, milliseconds of CPU time of all of them, frames.
 * Prints the nanoseconds of CPU time that they used, by their own clocks.
 */
public final class ShortThreads {
    private static final ThreadMXBean CLOCKS = ManagementFactory.getThreadMXBean();
    private static long usedNs;
    private static volatile double sink;

    private ShortThreads() {}

    static void compute(int frames, long nanos) {
        if (frames > 0) {
            compute(frames - 1, nanos);
            return;
        }
        double x = 1;
        while (CLOCKS.getCurrentThreadCpuTime() < nanos) {
            for (int i = 0; i < 10_000; i++) {
                x = x * 1.0000001 + 1e-9;
            }
        }
        sink = x;
    }

    public static void main(String[] args) throws InterruptedException {
        int threads = Integer.parseInt(args[0]);
        long nanos = Long.parseLong(args[1]) * 1_000_000 / threads;
        int frames = Integer.parseInt(args[2]);
        for (int i = 0; i < threads; i++) {
            Thread thread = new Thread(() -> {
                compute(frames, nanos);
                usedNs += CLOCKS.getCurrentThreadCpuTime();
            });
            thread.start();
            thread.join();
        }
        System.out.println(usedNs);
    }
}
