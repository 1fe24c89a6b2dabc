import java.nio.file.Files;
import java.nio.file.Path;

/** A worker computes until a file is there; main joins it, and so does a thread that the worker started, which watches over it. */
public final class Joined {
    private static volatile long sum;

    private Joined() {}

    public static void main(String[] args) throws InterruptedException {
        Path stop = Path.of(args[0]);
        Thread worker = new Thread(() -> {
            Thread me = Thread.currentThread();
            new Thread(() -> join(me), "watcher").start();
            while (!Files.exists(stop)) {
                for (int i = 0; i < 1_000_000; i++) {
                    sum += i;
                }
            }
        }, "worker");
        worker.start();
        System.out.println("ready");
        join(worker);
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
