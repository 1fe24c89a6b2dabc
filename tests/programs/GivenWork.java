import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Future;
import java.util.concurrent.RecursiveAction;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;

/**
 * Gives the same items of work to other threads in one of the ways that Java has, or does them alone, between stretches of its
 * main thread.
 *
 * <p>Arguments: pool, executor, stream, threads or sequential; threads; rounds; items of a round. Prints what it measured after one
 * round: the wall time between giving the work and having it back, and the CPU time of the items.
 */
public final class GivenWork {
    private static final long ITEM_NS = 2_000_000;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final AtomicLong ITEMS_CPU = new AtomicLong();
    private static volatile double sink;

    private GivenWork() {}

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[1]);
        int rounds = Integer.parseInt(args[2]);
        int items = Integer.parseInt(args[3]);
        long given = 0;
        long begin = 0;
        ExecutorService executor = args[0].equals("executor") ? Executors.newFixedThreadPool(threads) : null;
        ForkJoinPool pool = args[0].equals("pool") ? new ForkJoinPool(threads) : null;
        for (int round = 0; round <= rounds; round++) {
            if (round == 1) { // in the first one classes are loaded and threads begin
                given = 0;
                ITEMS_CPU.set(0);
                begin = System.nanoTime();
            }
            prepare(items / 4);
            long before = System.nanoTime();
            switch (args[0]) {
                case "pool" -> pool.invoke(new Part(0, items));
                case "executor" -> byExecutor(executor, items);
                case "stream" -> IntStream.range(0, items).parallel().forEach(GivenWork::item);
                case "threads" -> byThreads(threads, items);
                default -> {
                    for (int i = 0; i < items; i++) {
                        item(i);
                    }
                }
            }
            given += System.nanoTime() - before;
        }
        long end = System.nanoTime();
        if (executor != null) {
            executor.shutdown();
        }
        System.out.println("{\"given_ns\": " + given + ", \"items_cpu_ns\": " + ITEMS_CPU.get() + ", \"begin_ns\": " + begin
                + ", \"end_ns\": " + end + "}");
    }

    private static void prepare(int count) {
        for (int i = 0; i < count; i++) {
            burn();
        }
    }

    private static void item(int number) {
        long before = THREADS.getCurrentThreadCpuTime();
        burn();
        ITEMS_CPU.addAndGet(THREADS.getCurrentThreadCpuTime() - before);
    }

    private static void burn() {
        long until = THREADS.getCurrentThreadCpuTime() + ITEM_NS;
        double x = 1;
        while (THREADS.getCurrentThreadCpuTime() < until) {
            for (int i = 0; i < 10_000; i++) {
                x = x * 1.0000001 + 1e-9;
            }
        }
        sink = x;
    }

    private static void byExecutor(ExecutorService executor, int items) throws Exception {
        List<Future<?>> all = new ArrayList<>();
        for (int i = 0; i < items; i++) {
            int number = i;
            all.add(executor.submit(() -> item(number)));
        }
        for (Future<?> each : all) {
            each.get();
        }
    }

    private static void byThreads(int threads, int items) throws Exception {
        List<Thread> all = new ArrayList<>();
        for (int t = 0; t < threads; t++) {
            int first = t;
            all.add(new Thread(() -> {
                for (int i = first; i < items; i += threads) {
                    item(i);
                }
            }));
            all.get(t).start();
        }
        for (Thread each : all) {
            each.join();
        }
    }

    private static final class Part extends RecursiveAction {
        private static final long serialVersionUID = 1;
        private final int from;
        private final int to;

        Part(int from, int to) {
            this.from = from;
            this.to = to;
        }

        @Override
        protected void compute() {
            if (to - from == 1) {
                item(from);
            } else {
                invokeAll(new Part(from, (from + to) / 2), new Part((from + to) / 2, to));
            }
        }
    }
}
