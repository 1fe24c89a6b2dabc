package headway.workloads.kmeans;

import headway.workloads.Report;
import headway.workloads.cases.Team;
import headway.workloads.cases.WaitedLock;

/**
 * Version 3: all threads add to the same sums, a batch of points at a time, with the lock of the sums held. Batches are large:
 * where threads share a CPU, one that holds the lock for less than its turn on the CPU would never be waited for.
 */
final class LockedKMeans extends ArrayKMeans {
    private static final int BATCHES = 8;

    private final int batch;
    private final WaitedLock lock;

    LockedKMeans(Team team, int points) {
        super(team, points);
        batch = Math.max(1, points / BATCHES);
        lock = new WaitedLock(team.parts());
    }

    @Override
    void addUp() {
        Tally.clear(tallies);
        team.parallel("tally", this::tally);
    }

    @Override
    void tally(int part) {
        int end = first(part + 1);
        for (int from = first(part); from < end; from += batch) {
            lock.lock(part);
            try {
                add(tallies, from, Math.min(end, from + batch));
            } finally {
                lock.unlock();
            }
        }
    }

    @Override
    void clear() {
        lock.clear();
    }

    @Override
    Report report(Report line) {
        return lock.report(line);
    }
}
