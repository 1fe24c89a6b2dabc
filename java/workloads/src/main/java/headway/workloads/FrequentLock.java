package headway.workloads;

import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/**
 * The frequently-acquired-lock bottleneck: threads sleep 32 ms with one of two locks, three times as often with the first.
 *
 * <p>Arguments: juc or monitor (juc); seconds (100); factors of the two sleeping times (1 1); threads (64); a file for every
 * acquisition (none).
 */
public final class FrequentLock {
    private static final double FIRST = 0.75;

    private FrequentLock() {}

    public static void main(String[] args) {
        String kind = Work.argument(args, 0, "juc");
        MeasuredLock.warmUp(kind);
        List<MeasuredLock> locks =
                List.of(MeasuredLock.of(kind, "frequent"), MeasuredLock.of(kind, "rare"));
        LockPattern pattern = new LockPattern(locks, (long) (32e6 * Work.argument(args, 2, 1.0)),
                (long) (32e6 * Work.argument(args, 3, 1.0)));
        pattern.run("frequent_lock", Work.argument(args, 4, 64), Work.argument(args, 1, 100.0),
                each -> each.hold(ThreadLocalRandom.current().nextDouble() < FIRST ? 0 : 1), Work.argument(args, 5, ""));
    }
}
