package headway.workloads;

import java.util.List;

/**
 * The large-critical-section bottleneck: threads take three locks in turn, equally often, and sleep 4, 16 and 64 ms with them.
 * Only the third one limits how often they come round.
 *
 * <p>Arguments: juc or monitor (juc); seconds (100); factors of the three sleeping times (1 1 1); threads (64); a file for
 * every acquisition (none).
 */
public final class LargeCriticalSection {
    private LargeCriticalSection() {}

    public static void main(String[] args) {
        String kind = Work.argument(args, 0, "juc");
        MeasuredLock.warmUp(kind);
        List<MeasuredLock> locks = List.of(MeasuredLock.of(kind, "lock-4ms"), MeasuredLock.of(kind, "lock-16ms"),
                MeasuredLock.of(kind, "lock-64ms"));
        LockPattern pattern = new LockPattern(locks, (long) (4e6 * Work.argument(args, 2, 1.0)),
                (long) (16e6 * Work.argument(args, 3, 1.0)), (long) (64e6 * Work.argument(args, 4, 1.0)));
        pattern.run("large_critical_section", Work.argument(args, 5, 64), Work.argument(args, 1, 100.0),
                LargeCriticalSection::round, Work.argument(args, 6, ""));
    }

    private static void round(LockPattern pattern) {
        pattern.hold(0);
        pattern.hold(1);
        pattern.hold(2);
    }
}
