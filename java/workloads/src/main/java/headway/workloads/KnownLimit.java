package headway.workloads;

import headway.workloads.cases.Rounds;
import headway.workloads.cases.Team;
import headway.workloads.cases.WaitedLock;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A program whose one limit has a size that is known: the same work in every round, in units that cost alike, of which a
 * share is done sequentially, or by one thread, or with a lock held; or the threads do more of it than is needed.
 *
 * <p>Arguments: the limit (none, sequential, imbalance, lock, spin, overhead); threads, 0 for the sequential program; its
 * size (0.5); rounds (16); thousands of units in a round (25000); rounds to warm up (4).
 *
 * <ul>
 *   <li>sequential: the share of all work that one thread does while the others wait;
 *   <li>imbalance: the share of all work that the first thread does; the others share the rest;
 *   <li>spin: the same, and those who are done wait busily for the first one;
 *   <li>lock: the share of each thread's work that is done with one lock held, in four pieces;
 *   <li>overhead: the work that the parallel program does beyond the sequential one's, as a share of that.
 * </ul>
 */
public final class KnownLimit {
    private static final int PIECES = 4;

    private final String limit;
    private final double size;
    private final int units;
    private final Team team;
    private final boolean isSequential;
    private final WaitedLock lock;
    private final AtomicInteger working = new AtomicInteger();
    private final double[] found;

    private KnownLimit(String limit, int threads, double size, int units) {
        this.limit = limit;
        this.size = size;
        this.units = units;
        isSequential = threads == 0;
        team = isSequential ? Team.alone() : Team.of(threads);
        lock = new WaitedLock(team.parts());
        found = new double[16 * team.parts()];
    }

    public static void main(String[] args) {
        String limit = Work.argument(args, 0, "none");
        int threads = Work.argument(args, 1, 0);
        Rounds rounds = new Rounds("known_limit", Work.argument(args, 5, 4), Work.argument(args, 3, 16), args);
        KnownLimit program = new KnownLimit(limit, threads, Work.argument(args, 2, 0.5),
                1000 * Work.argument(args, 4, 25_000));
        try (Team team = program.team) {
            rounds.run(program::play, program::clear, line -> program.lock.report(team.report(
                    line.put("limit", limit).put("threads", team.parts()).put("size", program.size))));
        }
    }

    private void play(int rounds) {
        int before = limit.equals("sequential") ? (int) (units * size) : 0;
        for (int i = 0; i < rounds; i++) {
            if (before > 0) {
                team.sequential("serial", () -> serial(before));
            }
            working.set(team.parts());
            team.parallel("work", part -> work(part, units - before));
        }
    }

    private void clear() {
        team.clear();
        lock.clear();
    }

    private void serial(int count) {
        found[0] = Work.spin(found[0], count);
    }

    /** One part of {@code count} units. */
    private void work(int part, int count) {
        int mine = share(part, count);
        if (limit.equals("lock") && !isSequential) {
            inPieces(part, mine);
        } else {
            compute(part, mine);
        }
        working.decrementAndGet();
        if (limit.equals("spin")) {
            spinWait();
        }
    }

    private int share(int part, int count) {
        int parts = team.parts();
        if (parts > 1 && (limit.equals("imbalance") || limit.equals("spin"))) {
            return (int) (part == 0 ? count * size : count * (1 - size) / (parts - 1));
        }
        double more = limit.equals("overhead") && !isSequential ? 1 + size : 1;
        return (int) (count * more / parts);
    }

    private void inPieces(int part, int count) {
        int held = (int) (count * size / PIECES);
        for (int i = 0; i < PIECES; i++) {
            lock.lock(part);
            try {
                compute(part, held);
            } finally {
                lock.unlock();
            }
            compute(part, count / PIECES - held);
        }
    }

    private void compute(int part, int count) {
        found[16 * part] = Work.spin(found[16 * part], count);
    }

    /** Waits busily until all are done. */
    private void spinWait() {
        while (working.get() > 0) {
            Thread.onSpinWait();
        }
    }
}
