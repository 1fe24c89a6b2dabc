package headway.workloads;

import java.util.List;

/**
 * A chain of three: "first" waits for lock outer, which "second" holds, who waits for lock inner, which "third" holds, who
 * sleeps. Each round is timed from when all are in place until the third one wakes up.
 *
 * <p>Arguments: juc or monitor (juc); rounds (5); milliseconds (40).
 */
public final class HolderWaitsForSecondLock {
    private final MeasuredLock outer;
    private final MeasuredLock inner;
    private final long[] begin;
    private final long[] end;
    private volatile int innerHeld = -1;
    private volatile int outerHeld = -1;
    private volatile int firstDone = -1;

    private HolderWaitsForSecondLock(String kind, int rounds) {
        outer = MeasuredLock.of(kind, "outer");
        inner = MeasuredLock.of(kind, "inner");
        begin = new long[rounds];
        end = new long[rounds];
    }

    public static void main(String[] args) {
        new HolderWaitsForSecondLock(Work.argument(args, 0, "juc"), Work.argument(args, 1, 5))
                .play(Work.argument(args, 2, 40));
    }

    private void play(int millis) {
        Thread first = new Thread(() -> eachRound(this::waitForOuter), "first");
        Thread second = new Thread(() -> eachRound(this::waitForInner), "second");
        Thread third = new Thread(() -> eachRound(round -> sleepWithInner(round, millis, first, second)), "third");
        long[] ids = {first.getId(), second.getId(), third.getId()};
        for (Thread thread : List.of(first, second, third)) {
            thread.start();
        }
        for (Thread thread : List.of(first, second, third)) {
            Work.join(thread);
        }
        Report.of("chain").put("java_ids", ids).put("round_begin_ns", begin).put("round_end_ns", end)
                .put("locks", List.of(outer.report(), inner.report())).print();
    }

    private interface Part {
        void run(int round);
    }

    private void eachRound(Part part) {
        for (int round = 0; round < begin.length; round++) {
            int before = round - 1;
            Work.await(() -> firstDone == before);
            part.run(round);
        }
    }

    private void sleepWithInner(int round, int millis, Thread first, Thread second) {
        inner.with(() -> {
            innerHeld = round;
            Work.await(() -> outer.hasQueued() && inner.hasQueued());
            Work.await(() -> Blockers.isBlocked(first) && Blockers.isBlocked(second));
            begin[round] = System.nanoTime();
            Work.sleep(millis);
            end[round] = System.nanoTime();
        });
        Work.await(() -> firstDone == round);
    }

    private void waitForInner(int round) {
        Work.await(() -> innerHeld == round);
        outer.with(() -> {
            outerHeld = round;
            inner.with(() -> {});
        });
        Work.await(() -> firstDone == round);
    }

    private void waitForOuter(int round) {
        Work.await(() -> outerHeld == round);
        outer.with(() -> {});
        firstDone = round;
    }
}
