package headway.workloads;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;

/**
 * Workers of known work, one program for each class of parallelism and root cause: each crew of workers ends before the next one
 * begins, and main works before the first.
 *
 * <p>Arguments: {@code threads}, {@code pool} (a fixed pool for each crew) or {@code fork-join} (a ForkJoinPool of a thread for
 * each task); milliseconds of CPU time of main; then one argument for each crew, the milliseconds of CPU time of its workers
 * ("100,100,300"). Prints the CPU time of main and of each worker as its thread's own clock has it.
 */
public final class NodeClasses {
    private NodeClasses() {}

    public static void main(String[] args) throws Exception {
        Work.burnCpu(20_000_000);
        Report.of("main").put("cpu_ns", burn(Long.parseLong(args[1]) * 1_000_000L)).print();
        for (int crew = 0; crew < args.length - 2; crew++) {
            long[] work = Arrays.stream(args[crew + 2].split(",")).mapToLong(each -> Long.parseLong(each) * 1_000_000L).toArray();
            long[] cpu = run(args[0], work);
            for (int worker = 0; worker < cpu.length; worker++) {
                Report.of("worker").put("crew", crew).put("worker", worker).put("cpu_ns", cpu[worker]).print();
            }
        }
    }

    private static long[] run(String kind, long[] work) throws Exception {
        if (kind.equals("threads")) {
            return threads(work);
        }
        List<Callable<Long>> tasks = new ArrayList<>();
        for (long each : work) {
            tasks.add(() -> burn(each));
        }
        var pool = kind.equals("pool") ? Executors.newFixedThreadPool(work.length) : new ForkJoinPool(work.length);
        try {
            return pool.invokeAll(tasks).stream().mapToLong(NodeClasses::get).toArray();
        } finally {
            pool.shutdown();
        }
    }

    /** Returns the CPU time of the calling thread until now, startup included, once it has computed for so long. */
    private static long burn(long nanos) {
        Work.burnCpu(nanos);
        return Work.cpuNanos();
    }

    private static long get(java.util.concurrent.Future<Long> done) {
        try {
            return done.get();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static long[] threads(long[] work) throws InterruptedException {
        long[] cpu = new long[work.length];
        Thread[] threads = new Thread[work.length];
        for (int worker = 0; worker < work.length; worker++) {
            int number = worker;
            threads[worker] = new Thread(() -> cpu[number] = burn(work[number]));
        }
        for (Thread each : threads) {
            each.start();
        }
        for (Thread each : threads) {
            each.join();
        }
        return cpu;
    }
}
