import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.locks.LockSupport;

/**
 * The `app.jar` of the documents: two threads that work, one after a while, and one that mostly waits. It ends when the first has
 * used as many milliseconds of CPU time as APP_CPU_MS says: on a busy machine, where headway takes longer to attach, later.
 */
public final class App {
    private static final long CPU_NS = 1_000_000L * Long.parseLong(System.getenv("APP_CPU_MS"));
    private static volatile double sink;
    private static volatile boolean over;

    public static void main(String[] args) throws InterruptedException {
        Thread[] threads = {
            new Thread(() -> {
                ThreadMXBean clock = ManagementFactory.getThreadMXBean();
                while (clock.getCurrentThreadCpuTime() < CPU_NS) {
                    compute(1_000_000);
                }
                over = true;
            }, "worker-1"),
            new Thread(() -> {
                LockSupport.parkNanos(CPU_NS / 6);
                while (!over) {
                    compute(1_000_000);
                }
            }, "worker-2"),
            new Thread(() -> {
                while (!over) {
                    LockSupport.parkNanos(5_000_000L);
                }
            }, "ticker"),
        };
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("done");
    }

    private static void compute(int steps) {
        double sum = 0;
        for (int i = 1; i < steps; i++) {
            sum += Math.sqrt(i);
        }
        sink = sum;
    }
}
