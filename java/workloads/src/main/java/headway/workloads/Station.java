package headway.workloads;

import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.locks.LockSupport;

/**
 * One way of blocking, played in rounds: a driver prepares, a thread of its own blocks, the driver sees it blocked and releases
 * it. So the thread blocks exactly once per round, on the object that the driver sees it blocked on.
 */
final class Station {
    private static final Runnable NOTHING = () -> {};

    private final String name;
    private final int rounds;
    private final Runnable prepare;
    private final Runnable block;
    private final Runnable release;
    private final Set<Integer> hashes = new TreeSet<>();
    private String blockerClass = "";
    private volatile int round = -1;
    private volatile int prepared = -1;
    private volatile int passed = -1;

    private Station(String name, int rounds, Runnable prepare, Runnable block, Runnable release) {
        this.name = name;
        this.rounds = rounds;
        this.prepare = prepare;
        this.block = block;
        this.release = release;
    }

    /** The thread blocks until the driver releases it. */
    static Station released(String name, int rounds, Runnable block, Runnable release) {
        return new Station(name, rounds, NOTHING, block, release);
    }

    /** The driver holds something first, and the thread wants it. */
    static Station held(String name, int rounds, Runnable hold, Runnable block, Runnable release) {
        return new Station(name, rounds, hold, block, release);
    }

    /** The thread blocks for a time and goes on by itself. */
    static Station timed(String name, int rounds, Runnable block) {
        return new Station(name, rounds, NOTHING, block, null);
    }

    /** Plays all rounds with the calling thread as the driver. */
    Report play() {
        Thread thread = new Thread(this::blockEachRound, name);
        thread.start();
        for (int now = 0; now < rounds; now++) {
            int each = now;
            prepare.run();
            prepared = now;
            Work.await(() -> round == each);
            if (release != null) {
                Work.await(() -> isBlocked(thread));
                Object blocker = LockSupport.getBlocker(thread);
                if (blocker != null) {
                    blockerClass = blocker.getClass().getName();
                    hashes.add(System.identityHashCode(blocker));
                }
                release.run();
            }
            Work.await(() -> passed == each);
        }
        Work.join(thread);
        return Report.of("station").put("name", name).put("java_id", thread.getId()).put("rounds", rounds)
                .put("released", release != null).put("blocker_class", blockerClass)
                .put("identity_hashes", hashes.stream().mapToLong(Integer::longValue).toArray());
    }

    private static boolean isBlocked(Thread thread) {
        return switch (thread.getState()) {
            case WAITING, BLOCKED -> true;
            default -> false;
        };
    }

    private void blockEachRound() {
        for (int now = 0; now < rounds; now++) {
            int each = now;
            Work.await(() -> prepared == each);
            round = now;
            block.run();
            passed = now;
        }
    }
}
