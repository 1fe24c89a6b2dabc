package headway.workloads;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;

/**
 * Allocates through a live set that keeps changing, then asks for a full collection.
 *
 * <p>Arguments: megabytes to allocate (400); megabytes kept alive (8); threads (2). Run it with a small -Xmx.
 */
public final class GcHeavy {
    private static final int BLOCK = 10_000;

    private GcHeavy() {}

    public static void main(String[] args) {
        long megabytes = Work.argument(args, 0, 400);
        int alive = Work.argument(args, 1, 8);
        int workers = Work.argument(args, 2, 2);
        Thread[] threads = new Thread[workers];
        long begin = System.nanoTime();
        for (int i = 0; i < workers; i++) {
            threads[i] = new Thread(() -> allocate(megabytes / workers, Math.max(1, alive / workers)), "allocator-" + i);
            threads[i].start();
        }
        for (Thread thread : threads) {
            Work.join(thread);
        }
        System.gc();
        Report.of("gc_heavy").put("begin_ns", begin).put("end_ns", System.nanoTime()).print();
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            Report.of("collector").put("name", bean.getName()).put("count", bean.getCollectionCount())
                    .put("time_ms", bean.getCollectionTime()).print();
        }
    }

    private static void allocate(long megabytes, int alive) {
        byte[][] ring = new byte[alive * (1 << 20) / BLOCK][];
        long blocks = megabytes * (1 << 20) / BLOCK;
        for (long i = 0; i < blocks; i++) {
            ring[(int) (i % ring.length)] = new byte[BLOCK];
        }
        Work.sink = ring[0].length;
    }
}
