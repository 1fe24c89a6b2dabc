import java.util.concurrent.locks.LockSupport;

/** The `app.jar` of the documents: two threads that work, one after a while, and one that mostly waits. */
public final class App {
    private static volatile double sink;

    public static void main(String[] args) throws InterruptedException {
        long end = System.nanoTime() + 2_500_000_000L;
        Thread[] threads = {
            new Thread(() -> compute(end), "worker-1"),
            new Thread(() -> {
                LockSupport.parkNanos(500_000_000L);
                compute(end);
            }, "worker-2"),
            new Thread(() -> {
                while (System.nanoTime() < end) {
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

    private static void compute(long end) {
        double sum = 0;
        for (int i = 1; System.nanoTime() < end; i++) {
            sum += Math.sqrt(i);
        }
        sink = sum;
    }
}
