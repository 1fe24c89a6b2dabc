import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/**
 * Where locks are held, and where not: the lines say so. "held: X Y" means that all of the line's code runs with locks
 * of these classes; "free", with none.
 */
final class Sections {
    static final class Mine {}

    static final Object ANY = new Object();
    static int n;
    final Mine mine = new Mine();
    final ReentrantLock reentrant = new ReentrantLock();
    final Lock plain = new ReentrantLock();
    final ReentrantReadWriteLock both = new ReentrantReadWriteLock();
    final StampedLock stamped = new StampedLock();

    static void work() {
        n++; // free
    }

    synchronized void ofThis() {
        work(); // held: Sections
    }

    static synchronized void ofClass() {
        work(); // held: java/lang/Class
    }

    void block() {
        work(); // free
        synchronized (mine) {
            work(); // held: Sections$Mine
        }
        work(); // free
    }

    void parameter(long wide, Mine given) {
        synchronized (given) {
            work(); // held: Sections$Mine
        }
        work(); // free
    }

    void nested() {
        synchronized (mine) {
            work(); // held: Sections$Mine
            synchronized (ANY) {
                work(); // held: Sections$Mine java/lang/Object
            }
            work(); // held: Sections$Mine
        }
        work(); // free
    }

    int returnsFromWithin(boolean early) {
        synchronized (this) {
            if (early) { // held: Sections
                work(); // held: Sections
                return 1;
            }
            work(); // held: Sections
        }
        work(); // free
        return 2;
    }

    void caughtOutside() {
        try {
            synchronized (Sections.class) {
                work(); // held: java/lang/Class
            }
        } catch (IllegalStateException e) {
            work(); // free
        }
        work(); // free
    }

    void loops(int times) {
        for (int i = 0; i < times; i++) { // free
            synchronized (mine) {
                while (n < i) { // held: Sections$Mine
                    work(); // held: Sections$Mine
                }
            }
            work(); // free
        }
    }

    void tryFinally() {
        work(); // free
        reentrant.lock();
        try {
            work(); // held: java/util/concurrent/locks/ReentrantLock
        } finally {
            reentrant.unlock();
        }
        work(); // free
    }

    void knownAsLock() throws InterruptedException {
        plain.lockInterruptibly();
        try {
            work(); // held: java/util/concurrent/locks/Lock
        } catch (IllegalStateException e) {
            work(); // held: java/util/concurrent/locks/Lock
        } finally {
            plain.unlock();
        }
        work(); // free
    }

    void tries() {
        if (reentrant.tryLock()) {
            try {
                work(); // held: java/util/concurrent/locks/ReentrantLock
            } finally {
                reentrant.unlock();
            }
        } else {
            work(); // free
        }
        work(); // free
    }

    void givesUp() throws InterruptedException {
        if (!reentrant.tryLock(1, TimeUnit.SECONDS)) {
            work(); // free
            return;
        }
        try {
            work(); // held: java/util/concurrent/locks/ReentrantLock
        } finally {
            reentrant.unlock();
        }
    }

    void readsThenWrites() {
        both.readLock().lock();
        work(); // held: java/util/concurrent/locks/ReentrantReadWriteLock$ReadLock
        both.readLock().unlock();
        work(); // free
        both.writeLock().lock();
        try {
            work(); // held: java/util/concurrent/locks/ReentrantReadWriteLock$WriteLock
        } finally {
            both.writeLock().unlock();
        }
        work(); // free
    }

    void handOver() {
        reentrant.lock();
        work(); // held: java/util/concurrent/locks/ReentrantLock
        plain.lock();
        work(); // held: java/util/concurrent/locks/ReentrantLock java/util/concurrent/locks/Lock
        reentrant.unlock();
        work(); // held: java/util/concurrent/locks/Lock
        plain.unlock();
        work(); // free
    }

    void stamps() {
        long stamp = stamped.writeLock();
        try {
            work(); // held: java/util/concurrent/locks/StampedLock
        } finally {
            stamped.unlockWrite(stamp);
        }
        work(); // free
    }

    Runnable lambda() {
        work(); // free
        return () -> {
            synchronized (mine) {
                work(); // held: Sections$Mine
            }
            work(); // free
        };
    }

    int chooses(int what) {
        synchronized (mine) {
            switch (what) { // held: Sections$Mine
                case 1:
                    work(); // held: Sections$Mine
                    break;
                case 2:
                    throw new IllegalStateException();
                default:
                    work(); // held: Sections$Mine
            }
        }
        work(); // free
        return what;
    }
}
