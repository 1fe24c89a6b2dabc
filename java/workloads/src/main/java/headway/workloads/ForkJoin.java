package headway.workloads;

import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveTask;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A fork/join tree of 2^depth leaves, each of a fixed CPU time, over a pool of as many workers as processors.
 *
 * <p>Arguments: depth (7); microseconds of CPU time per leaf (2000); workers (available processors).
 */
public final class ForkJoin {
    private static final AtomicLong LEAF_CPU = new AtomicLong();

    private ForkJoin() {}

    public static void main(String[] args) {
        int depth = Work.argument(args, 0, 7);
        long leafNanos = Work.argument(args, 1, 2000) * 1000L;
        int workers = Work.argument(args, 2, Runtime.getRuntime().availableProcessors());
        ForkJoinPool pool = new ForkJoinPool(workers);
        long begin = System.nanoTime();
        int leaves = pool.invoke(new Node(depth, leafNanos));
        long end = System.nanoTime();
        pool.shutdown();
        Report.of("fork_join").put("leaves", leaves).put("workers", workers).put("begin_ns", begin).put("end_ns", end)
                .put("leaf_cpu_ns", LEAF_CPU.get()).put("steals", pool.getStealCount()).print();
    }

    private static final class Node extends RecursiveTask<Integer> {
        private static final long serialVersionUID = 1;
        private final int depth;
        private final long leafNanos;

        Node(int depth, long leafNanos) {
            this.depth = depth;
            this.leafNanos = leafNanos;
        }

        @Override
        protected Integer compute() {
            if (depth == 0) {
                long before = Work.cpuNanos();
                Work.burnCpu(leafNanos);
                LEAF_CPU.addAndGet(Work.cpuNanos() - before);
                return 1;
            }
            Node left = new Node(depth - 1, leafNanos);
            left.fork();
            return new Node(depth - 1, leafNanos).compute() + left.join();
        }
    }
}
