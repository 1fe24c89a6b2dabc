package headway.workloads;

import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;

/**
 * One thread parks again and again; its parks end in turn by an unpark, at once because it had been unparked before, by an
 * interrupt, at once because it had been interrupted before, and by a timeout. Nothing else parks on the same object.
 *
 * <p>Arguments: rounds of these five (200); a file for the counts; a file for the log.
 */
public final class ParkEndings {
    private static final long FOR_LONG_NANOS = 600_000_000_000L;
    private static final String[] HOW = {"unpark", "unparked before", "interrupt", "interrupted before", "timeout"};

    /** What the thread parks on. */
    static final class Gate {}

    private static volatile int step = -1;

    private ParkEndings() {}

    public static void main(String[] args) {
        int rounds = Work.argument(args, 0, 200);
        CountedParks parks = new CountedParks(Path.of(args[1]), 1, true);
        Gate gate = new Gate();
        long[] interrupts = new long[1];
        Thread parker = new Thread(() -> {
            for (int i = 0; i < rounds * HOW.length; i++) {
                interrupts[0] += parkOnce(parks, gate, i) ? 1 : 0;
            }
            step = Integer.MAX_VALUE;
        }, "parker");
        parker.start();
        for (int i = 0; i < rounds * HOW.length; i++) {
            wake(parker, i);
        }
        Work.join(parker);
        parks.writeLog(Path.of(args[2]));
        Report.of("endings").put("parks", parks.ended(0)).put("interrupts", interrupts[0]).put("rounds", rounds)
                .put("gate_hash", System.identityHashCode(gate)).put("java_id", parker.getId())
                .put("main_id", Thread.currentThread().getId()).print();
    }

    /** Returns whether it ended interrupted. */
    private static boolean parkOnce(CountedParks parks, Gate gate, int i) {
        String how = HOW[i % HOW.length];
        switch (how) {
            case "unparked before" -> LockSupport.unpark(Thread.currentThread());
            case "interrupted before" -> Thread.currentThread().interrupt();
            default -> { }
        }
        step = i;
        long nanos = how.equals("timeout") ? 100_000 : how.equals("interrupt") ? FOR_LONG_NANOS : 0;
        parks.park(0, gate, nanos, how);
        return Thread.interrupted();
    }

    /** Ends the parker's i-th park, where that is for another thread to do, once it is parked. */
    private static void wake(Thread parker, int i) {
        String how = HOW[i % HOW.length];
        if (!how.equals("unpark") && !how.equals("interrupt")) {
            return;
        }
        // Past it already: that park ended for no reason, as parks may.
        Work.await(() -> step > i || step == i && Blockers.isBlocked(parker));
        if (step > i) {
            return;
        }
        if (how.equals("unpark")) {
            LockSupport.unpark(parker);
        } else {
            parker.interrupt();
        }
    }
}
