package headway.workloads;

/**
 * Visits of a method and synchronized calls, nothing else, and what CPU time each took: to see what a progress point and a
 * settled lock cost (benchmarks/causal_hook_cost.py).
 *
 * <p>Arguments: how many of each in a round (20000000); rounds, of which the fastest counts (15).
 */
public final class VisitCost {
    private static long sum;

    private VisitCost() {}

    public static void main(String[] args) {
        int count = Work.argument(args, 0, 20_000_000);
        int rounds = Work.argument(args, 1, 15);
        long visits = Long.MAX_VALUE;
        long locks = Long.MAX_VALUE;
        for (int round = 0; round < rounds; round++) {
            visits = Math.min(visits, visitAll(count));
            locks = Math.min(locks, lockAll(count));
        }
        Report.of("visit_cost").put("count", count).put("visit_ps", visits * 1000 / count)
                .put("lock_ps", locks * 1000 / count).put("sum", sum).print();
    }

    private static long visitAll(int count) {
        long cpu = Work.cpuNanos();
        for (int i = 0; i < count; i++) {
            visit(i);
        }
        return Work.cpuNanos() - cpu;
    }

    private static long lockAll(int count) {
        long cpu = Work.cpuNanos();
        for (int i = 0; i < count; i++) {
            lock(i);
        }
        return Work.cpuNanos() - cpu;
    }

    /** Some arithmetic, so that the loop is not removed. */
    private static void visit(int i) {
        sum = sum * 31 + i;
    }

    private static synchronized void lock(int i) {
        sum = sum * 31 + i;
    }
}
