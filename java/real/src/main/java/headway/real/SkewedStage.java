package headway.real;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import scala.concurrent.Await;
import scala.concurrent.ExecutionContext;
import scala.concurrent.Future;
import scala.concurrent.duration.Duration;

/**
 * A stage of four tasks on Scala's futures, one of which has 80 % of the rows. Prints how long each task took by its own clock, longest
 * first, and the checksum.
 */
public final class SkewedStage {
    private static final int TASKS = 4;

    static long aggregate(int task, long rows) {
        long sum = task;
        for (long row = 0; row < rows * 1000; row++) {
            sum = sum * 6364136223846793005L + 1442695040888963407L;
            sum ^= sum >>> 29;
        }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        long rows = Long.parseLong(args[0]);
        ExecutorService pool = Executors.newFixedThreadPool(TASKS, new Names());
        ExecutionContext context = ExecutionContext.fromExecutor(pool);
        ConcurrentLinkedQueue<Long> took = new ConcurrentLinkedQueue<>();
        List<Future<Long>> stage = new ArrayList<>();
        for (int i = 0; i < TASKS; i++) {
            int task = i;
            long mine = i == 1 ? rows * 80 / 100 : rows * 20 / 100 / (TASKS - 1);
            stage.add(
                    Future.apply(
                            () -> {
                                long began = System.nanoTime();
                                long sum = aggregate(task, mine);
                                took.add(System.nanoTime() - began);
                                return sum;
                            },
                            context));
        }
        long check = 0;
        for (Future<Long> each : stage) {
            check ^= Await.result(each, Duration.Inf());
        }
        pool.shutdown();
        StringBuilder line = new StringBuilder();
        took.stream().sorted((a, b) -> Long.compare(b, a)).forEach(ns -> line.append(ns).append(' '));
        System.out.println(line.toString().trim());
        System.out.println(check);
    }

    private static final class Names implements java.util.concurrent.ThreadFactory {
        private int next;

        @Override
        public Thread newThread(Runnable task) {
            return new Thread(task, "stage-worker-" + next++);
        }
    }
}
