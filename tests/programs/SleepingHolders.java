import java.lang.reflect.Method;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Virtual threads that sleep while they hold what the others want: a lock, or a semaphore's permit, or (as asked) a monitor.
 * Prints "WAY SLEPT_NS HELD_NS WAITED_NS FIRST_NS": how long the holders slept, how long they held it, the same times the
 * threads that had rounds left, and of that the holds of who came first, until it had to wait itself. Built for JDK 17, hence by
 * reflection.
 */
public final class SleepingHolders {
    private static final int THREADS = 6;
    private static final int ROUNDS = 5;
    private static long slept;
    private static long held;
    private static long waited;
    private static long first;
    private static Thread firstHolder;
    private static boolean isFirst;
    private static final AtomicInteger LEFT = new AtomicInteger();

    /** By who holds it. */
    private static void count(long heldNs) {
        if (firstHolder == null) {
            firstHolder = Thread.currentThread();
        }
        isFirst &= firstHolder == Thread.currentThread();
        held += heldNs;
        waited += heldNs * (LEFT.get() - 1);
        first += isFirst ? heldNs * (LEFT.get() - 1) : 0;
    }

    private static void hold() throws InterruptedException {
        long start = System.nanoTime();
        Thread.sleep(10);
        slept += System.nanoTime() - start;
    }

    interface Section {
        void run() throws InterruptedException;
    }

    private static void all(String way, Section section) throws Exception {
        slept = held = waited = first = 0;
        firstHolder = null;
        isFirst = true;
        LEFT.set(THREADS);
        Method start = Class.forName("java.lang.Thread$Builder").getMethod("start", Runnable.class);
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            Runnable task = () -> {
                try {
                    for (int round = 0; round < ROUNDS; round++) {
                        section.run();
                    }
                    LEFT.decrementAndGet();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            };
            threads[i] = (Thread) start.invoke(Thread.class.getMethod("ofVirtual").invoke(null), task);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(way + " " + slept + " " + held + " " + waited + " " + first);
    }

    public static void main(String[] args) throws Exception {
        ReentrantLock lock = new ReentrantLock(true);
        Semaphore permit = new Semaphore(1, true);
        Object monitor = new Object();
        all("lock", () -> {
            lock.lock();
            long start = System.nanoTime();
            hold();
            count(System.nanoTime() - start);
            lock.unlock();
        });
        all("semaphore", () -> {
            permit.acquire();
            long start = System.nanoTime();
            hold();
            count(System.nanoTime() - start);
            permit.release();
        });
        all("monitor", () -> {
            synchronized (monitor) {
                long start = System.nanoTime();
                hold();
                count(System.nanoTime() - start);
            }
        });
    }
}
