import java.lang.reflect.Method;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.StampedLock;

/**
 * Waiters that are woken and find the lock taken again, some times before they get it. Prints "CLASS WAITS WAKINGS": how often
 * somebody waited for a lock of that class, and how often somebody was woken for it in vain. Built for JDK 17.
 */
public final class Barging {
    private static final int ROUNDS = 2;
    private static final int BARGES = 4;

    interface Lock {
        void lock() throws Exception;

        boolean tryLock();

        void unlock();
    }

    private static Thread start(boolean isVirtual, Runnable task) throws Exception {
        if (!isVirtual) {
            Thread thread = new Thread(task);
            thread.start();
            return thread;
        }
        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
        Method start = Class.forName("java.lang.Thread$Builder").getMethod("start", Runnable.class);
        return (Thread) start.invoke(builder, task);
    }

    private static void untilItWaits(Thread thread) throws Exception {
        while (thread.getState() != Thread.State.WAITING && thread.getState() != Thread.State.TIMED_WAITING) {
            Thread.sleep(1);
        }
    }

    /** One thread waits for the lock ROUNDS times; this one releases it and takes it again before the other one runs. */
    private static int contend(Lock lock, boolean isVirtual) throws Exception {
        int inVain = 0;
        for (int round = 0; round < ROUNDS; round++) {
            CountDownLatch got = new CountDownLatch(1);
            lock.lock();
            Thread waiter = start(isVirtual, () -> {
                try {
                    lock.lock();
                    got.countDown();
                    lock.unlock();
                } catch (Exception e) {
                    throw new IllegalStateException(e);
                }
            });
            untilItWaits(waiter);
            boolean isOurs = true;
            for (int barge = 0; isOurs && barge < BARGES; barge++) {
                lock.unlock();
                isOurs = lock.tryLock();
                if (isOurs && got.getCount() == 1) {
                    inVain++;
                    Thread.sleep(3);
                    untilItWaits(waiter);
                }
            }
            if (isOurs) {
                lock.unlock();
            }
            waiter.join();
        }
        return inVain;
    }

    private static Lock lock(String kind) {
        if (kind.equals("semaphore")) {
            Semaphore permits = new Semaphore(1);
            return new Lock() {
                public void lock() throws Exception {
                    permits.acquire();
                }

                public boolean tryLock() {
                    return permits.tryAcquire();
                }

                public void unlock() {
                    permits.release();
                }
            };
        }
        if (kind.equals("stamped")) {
            StampedLock stamped = new StampedLock();
            return new Lock() {
                public void lock() {
                    stamped.writeLock();
                }

                public boolean tryLock() {
                    return stamped.tryWriteLock() != 0;
                }

                public void unlock() {
                    stamped.tryUnlockWrite();
                }
            };
        }
        ReentrantLock lock = new ReentrantLock();
        return new Lock() {
            public void lock() throws Exception {
                if (!lock.tryLock(1, TimeUnit.MINUTES)) {
                    throw new IllegalStateException("not in a minute");
                }
            }

            public boolean tryLock() {
                return lock.tryLock();
            }

            public void unlock() {
                lock.unlock();
            }
        };
    }

    public static void main(String[] args) throws Exception {
        String[] kinds = {"reentrant", "semaphore", "stamped"};
        String[] names = {"locks.ReentrantLock$NonfairSync", "Semaphore$NonfairSync", "locks.StampedLock"};
        for (int i = 0; i < kinds.length; i++) {
            int inVain = 0;
            for (String threads : args) {
                inVain += contend(lock(kinds[i]), threads.equals("virtual"));
            }
            System.out.println("java.util.concurrent." + names[i] + " " + args.length * ROUNDS + " " + inVain);
        }
    }
}
