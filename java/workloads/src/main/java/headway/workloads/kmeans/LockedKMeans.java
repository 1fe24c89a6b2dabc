package headway.workloads.kmeans;

import headway.workloads.Report;
import headway.workloads.cases.Team;
import headway.workloads.cases.WaitedLock;

/** Version 3: all threads add to the same sums, a batch of points at a time, with the lock of the sums held. */
final class LockedKMeans extends ArrayKMeans {
    private static final int BATCH = 2000;

    private final WaitedLock lock;

    LockedKMeans(Team team, int points) {
        super(team, points);
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
        for (int from = first(part); from < end; from += BATCH) {
            lock.lock(part);
            try {
                add(tallies, from, Math.min(end, from + BATCH));
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
