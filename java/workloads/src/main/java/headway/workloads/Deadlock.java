package headway.workloads;

import java.util.List;

/**
 * Two threads that each hold what the other one wants, for good. The program ends itself by System.exit.
 *
 * <p>Arguments: juc or monitor (juc); milliseconds in the deadlock (300); exit code (0).
 */
public final class Deadlock {
    private Deadlock() {}

    public static void main(String[] args) {
        String kind = Work.argument(args, 0, "juc");
        List<MeasuredLock> locks = List.of(MeasuredLock.of(kind, "left"), MeasuredLock.of(kind, "right"));
        boolean[] holds = new boolean[2];
        Thread[] threads = new Thread[2];
        for (int i = 0; i < 2; i++) {
            int me = i;
            threads[i] = new Thread(() -> locks.get(me).with(() -> {
                synchronized (holds) {
                    holds[me] = true;
                }
                Work.await(() -> both(holds));
                locks.get(1 - me).with(() -> {});
            }), "deadlocked-" + i);
            threads[i].setDaemon(true);
            threads[i].start();
        }
        Work.await(() -> both(holds) && Blockers.isBlocked(threads[0]) && Blockers.isBlocked(threads[1])
                && locks.get(0).hasQueued() && locks.get(1).hasQueued());
        long begin = System.nanoTime();
        Work.sleep(Work.argument(args, 1, 300));
        Report.of("deadlock").put("begin_ns", begin).put("end_ns", System.nanoTime())
                .put("java_ids", new long[] {threads[0].getId(), threads[1].getId()})
                .put("identity_hashes", locks.stream().mapToLong(lock -> System.identityHashCode(lock.blocker())).toArray())
                .print();
        System.exit(Work.argument(args, 2, 0));
    }

    private static boolean both(boolean[] holds) {
        synchronized (holds) {
            return holds[0] && holds[1];
        }
    }
}
