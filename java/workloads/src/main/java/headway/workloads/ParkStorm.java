package headway.workloads;

import java.util.concurrent.locks.LockSupport;

/**
 * Parks at a given rate: each thread gives itself the permit and parks, so that the park returns at once and the rate does not
 * depend on how fast threads are switched.
 *
 * <p>Arguments: threads (2); parks per second, all threads together (200000); seconds (5).
 */
public final class ParkStorm {
    private ParkStorm() {}

    public static void main(String[] args) {
        Thread[] threads = new Thread[Work.argument(args, 0, 2)];
        double perNano = Work.argument(args, 1, 200_000.0) / 1e9 / threads.length;
        long nanos = (long) (Work.argument(args, 2, 5.0) * 1e9);
        long[] parks = new long[threads.length];
        long[] ids = new long[threads.length];
        Object[] blockers = new Object[threads.length];
        long begin = System.nanoTime();
        for (int i = 0; i < threads.length; i++) {
            int me = i;
            blockers[i] = new Object();
            threads[i] = new Thread(() -> parks[me] = park(blockers[me], perNano, begin, begin + nanos), "storm-" + i);
            ids[i] = threads[i].getId();
            threads[i].start();
        }
        long[] hashes = new long[threads.length];
        for (int i = 0; i < threads.length; i++) {
            Work.join(threads[i]);
            hashes[i] = System.identityHashCode(blockers[i]);
        }
        Report.of("park_storm").put("begin_ns", begin).put("end_ns", System.nanoTime()).put("parks", parks)
                .put("identity_hashes", hashes).put("java_ids", ids).print();
    }

    private static long park(Object blocker, double perNano, long begin, long end) {
        Thread self = Thread.currentThread();
        long done = 0;
        for (long now = begin; now < end || done == 0; now = System.nanoTime()) { // a late thread parks, too
            long due = (long) ((now - begin) * perNano);
            for (; done < due; done++) {
                LockSupport.unpark(self);
                LockSupport.park(blocker);
            }
            Thread.onSpinWait();
        }
        return done;
    }
}
