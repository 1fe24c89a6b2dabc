import java.io.IOException;
import java.lang.reflect.Method;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Virtual threads that sleep in a synchronized block, which pins them to their carriers up to JDK 23, and platform threads that
 * compute under a lock. Prints "WAY ENTRIES WAITED_NS HELD_NS SLEPT_NS" of each, by its own clock; with the argument "again" it
 * goes on with the virtual threads until its input ends. Built for JDK 17, hence by reflection.
 */
public final class Pinned {
    private static final int THREADS = 4;
    private static final int ROUNDS = 6;
    private static final Object MONITOR = new Object();
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static long entries;
    private static long held;
    private static long slept;
    private static final AtomicLong WAITED = new AtomicLong();
    static volatile double sink;

    private static void sleepPinned() {
        long wanted = System.nanoTime();
        synchronized (MONITOR) {
            long start = System.nanoTime();
            WAITED.addAndGet(start - wanted);
            try {
                Thread.sleep(10);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            slept += System.nanoTime() - start;
            entries++;
            held += System.nanoTime() - start;
        }
    }

    private static void computeLocked() {
        long wanted = System.nanoTime();
        LOCK.lock();
        try {
            long start = System.nanoTime();
            WAITED.addAndGet(start - wanted);
            double x = 1;
            while (System.nanoTime() - start < 5_000_000) {
                x = Math.sqrt(x + 2);
            }
            sink = x;
            entries++;
            held += System.nanoTime() - start;
        } finally {
            LOCK.unlock();
        }
    }

    private static void all(String way, Runnable section, boolean virtual) throws Exception {
        entries = held = slept = 0;
        WAITED.set(0);
        CountDownLatch go = new CountDownLatch(1);
        Runnable task = () -> {
            try {
                go.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            for (int round = 0; round < ROUNDS; round++) {
                section.run();
            }
        };
        Method startVirtual = Thread.class.getMethod("startVirtualThread", Runnable.class);
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            if (virtual) {
                threads[i] = (Thread) startVirtual.invoke(null, task);
            } else {
                threads[i] = new Thread(task, "computes-" + i);
                threads[i].start();
            }
        }
        go.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(way + " " + entries + " " + WAITED.get() + " " + held + " " + slept);
    }

    public static void main(String[] args) throws Exception {
        do {
            all("monitor", Pinned::sleepPinned, true);
            all("lock", Pinned::computeLocked, false);
        } while (args.length > 0 && inputIsOpen());
    }

    private static boolean inputIsOpen() throws IOException {
        return System.in.available() == 0;
    }
}
