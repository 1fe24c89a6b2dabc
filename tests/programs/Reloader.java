import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * A daemon reloads something under a write lock and sleeps between two times; three readers, which main joins, take the read lock for
 * a while again and again. Without its sleeps the daemon would have the lock more often. Prints how long the daemon slept, in ns.
 */
public final class Reloader {
    private static final ReentrantReadWriteLock LOCK = new ReentrantReadWriteLock();
    private static final int READS = 1500;
    private static volatile long sleptNs;

    private Reloader() {}

    static void compute(long micros) {
        long endNs = System.nanoTime() + micros * 1000;
        while (System.nanoTime() < endNs) {
            Thread.onSpinWait();
        }
    }

    static void reload() {
        while (true) {
            LOCK.writeLock().lock();
            try {
                compute(15_000);
            } finally {
                LOCK.writeLock().unlock();
            }
            long beganNs = System.nanoTime();
            try {
                Thread.sleep(60);
            } catch (InterruptedException ended) {
                throw new AssertionError(ended);
            }
            sleptNs += System.nanoTime() - beganNs;
        }
    }

    static void read() {
        for (int i = 0; i < READS; i++) {
            LOCK.readLock().lock();
            try {
                compute(500);
            } finally {
                LOCK.readLock().unlock();
            }
            compute(200);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread reloader = new Thread(Reloader::reload, "reloader");
        reloader.setDaemon(true);
        reloader.start();
        Thread[] readers = new Thread[3];
        for (int i = 0; i < readers.length; i++) {
            readers[i] = new Thread(Reloader::read, "reader-" + i);
            readers[i].start();
        }
        for (Thread reader : readers) {
            reader.join();
        }
        System.out.println(sleptNs);
    }
}
