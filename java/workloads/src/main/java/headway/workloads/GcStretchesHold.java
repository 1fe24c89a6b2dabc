package headway.workloads;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;

/**
 * A holder that has the garbage collected while it holds the lock: a full collection over live objects, so that it takes a while.
 *
 * <p>Arguments: juc or monitor (juc); rounds (5); MiB of live objects (64).
 */
public final class GcStretchesHold {
    private static Object[] live;

    private GcStretchesHold() {}

    public static void main(String[] args) {
        live = new Object[Work.argument(args, 2, 64) * 1024 * 8];
        for (int i = 0; i < live.length; i++) {
            live[i] = new long[14]; // 128 bytes
        }
        HeldLock lock = new HeldLock(Work.argument(args, 0, "juc"), "stretched", Work.argument(args, 1, 5));
        Report report = lock.play("gc_stretches_hold", System::gc);
        long collections = 0;
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            collections += collector.getCollectionCount();
        }
        report.put("collections", collections).put("live", live.length).print();
    }
}
