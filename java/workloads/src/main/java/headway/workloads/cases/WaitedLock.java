package headway.workloads.cases;

import headway.workloads.Report;
import java.util.Arrays;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A lock that measures how long each part took to get it. It is fair: who asks while another waits comes after that one, so
 * that all parts wait alike, and each hand-over to a thread that sleeps takes as long as waking it.
 */
public final class WaitedLock {
    private static final int APART = 16; // counters of different threads lie on cache lines of their own

    private final ReentrantLock lock = new ReentrantLock(true);
    private final long[] waited;
    private final long[] locked;

    public WaitedLock(int parts) {
        waited = new long[parts * APART];
        locked = new long[parts * APART];
    }

    public void lock(int part) {
        long asked = System.nanoTime();
        lock.lock();
        waited[part * APART] += System.nanoTime() - asked;
        locked[part * APART]++;
    }

    public void unlock() {
        lock.unlock();
    }

    /** Forgets what was measured so far. */
    public void clear() {
        Arrays.fill(waited, 0);
        Arrays.fill(locked, 0);
    }

    /** Adds the waiting and how often a part asked to a program's line. */
    public Report report(Report line) {
        return line.put("lock_wait_ns", perPart(waited)).put("lock_count", perPart(locked));
    }

    private static long[] perPart(long[] values) {
        long[] dense = new long[values.length / APART];
        for (int part = 0; part < dense.length; part++) {
            dense[part] = values[part * APART];
        }
        return dense;
    }
}
