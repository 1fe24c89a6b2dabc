package headway.workloads;

import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A server of requests, as servers are: clients put requests into a bounded queue and wait for the reply, workers take them,
 * compute a fixed amount, and look into a table under a lock. Almost every request parks several threads.
 *
 * <p>Arguments: clients (32); workers (8); requests per client (2000); rounds of computing per request (20000, about 40
 * microseconds); array or linked (array); "driven": serves once for every line "run" on standard input, collects the garbage
 * for every "gc", and ends with it.
 *
 * <p>Reports what part of the workers' CPU time was spent in {@link Work#spin}, by the threads' own CPU clocks ({@code
 * spin_cpu_ns} of {@code workers_cpu_ns}). The clock is read around every 16th call, as it costs half a microsecond.
 */
public final class QueueServer {
    private static final int CAPACITY = 64;
    private static final int KEYS = 1024;
    private static final int CLOCKED_ONE_OF = 16;

    private record Request(int key, CompletableFuture<Integer> reply) {}

    private final BlockingQueue<Request> queue;
    private final ReentrantLock tableLock = new ReentrantLock();
    private final Map<Integer, Integer> table = new HashMap<>();
    private final int rounds;
    private final List<Thread> workers = new ArrayList<>();
    private final LongAdder clockedNanos = new LongAdder();
    private final LongAdder clockedCalls = new LongAdder();

    private QueueServer(BlockingQueue<Request> queue, int rounds) {
        this.queue = queue;
        this.rounds = rounds;
    }

    public static void main(String[] args) throws IOException {
        int clients = Work.argument(args, 0, 32);
        int workers = Work.argument(args, 1, 8);
        int requests = Work.argument(args, 2, 2000);
        boolean linked = Work.argument(args, 4, "array").equals("linked");
        QueueServer server = new QueueServer(
                linked ? new LinkedBlockingQueue<>(CAPACITY) : new ArrayBlockingQueue<>(CAPACITY),
                Work.argument(args, 3, 20_000));
        server.startWorkers(workers);
        if (args.length <= 5) {
            server.play(clients, Math.max(1, requests / 10)); // so that the measured part finds its code compiled
            server.measure(clients, requests);
        } else {
            BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
            for (String word = input.readLine(); word != null; word = input.readLine()) {
                if (word.equals("gc")) {
                    System.gc();
                    Report.of("gc").print();
                } else {
                    server.measure(clients, requests);
                }
            }
        }
        System.exit(0); // the workers wait for requests
    }

    private void measure(int clients, int requests) {
        OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
        long cpu = system.getProcessCpuTime();
        long begin = System.nanoTime();
        clockedNanos.reset();
        clockedCalls.reset();
        long workersCpu = workersCpuNanos();
        long[] latency = play(clients, requests);
        workersCpu = workersCpuNanos() - workersCpu;
        long end = System.nanoTime();
        cpu = system.getProcessCpuTime() - cpu;
        Arrays.sort(latency);
        long total = (long) clients * requests;
        double spun = (double) clockedNanos.sum() / Math.max(1, clockedCalls.sum()) * total;
        Report.of("queue_server").put("begin_ns", begin).put("end_ns", end).put("requests", total)
                .put("requests_per_s", (long) (total * 1e9 / (end - begin))).put("wall_ns", end - begin)
                .put("cpu_ns", cpu).put("process_cpu_ns", system.getProcessCpuTime())
                .put("latency_p50_ns", latency[latency.length / 2])
                .put("latency_p99_ns", latency[(int) (latency.length * 0.99)])
                .put("workers_cpu_ns", workersCpu).put("spin_cpu_ns", (long) spun).print();
    }

    private void startWorkers(int workers) {
        for (int i = 0; i < workers; i++) {
            Thread worker = new Thread(this::serve, "worker-" + i);
            worker.setDaemon(true);
            worker.start();
            this.workers.add(worker);
        }
    }

    private long workersCpuNanos() {
        return workers.stream().mapToLong(Work::cpuNanos).sum();
    }

    /** Lets every client have its requests answered, and returns the time that each took. */
    private long[] play(int clients, int requests) {
        long[] latency = new long[clients * requests];
        Thread[] threads = new Thread[clients];
        for (int i = 0; i < clients; i++) {
            int me = i;
            threads[i] = new Thread(() -> request(me, requests, latency), "client-" + i);
            threads[i].start();
        }
        for (Thread thread : threads) {
            Work.join(thread);
        }
        return latency;
    }

    private void request(int me, int requests, long[] latency) {
        try {
            for (int i = 0; i < requests; i++) {
                long begin = System.nanoTime();
                Request request = new Request((me * 31 + i) % KEYS, new CompletableFuture<>());
                queue.put(request);
                request.reply.join();
                latency[me * requests + i] = System.nanoTime() - begin;
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private void serve() {
        try {
            for (int served = 0;; served++) {
                Request request = queue.take();
                if (served % CLOCKED_ONE_OF == 0) {
                    long begin = Work.cpuNanos();
                    Work.sink = Work.spin(1.0, rounds);
                    clockedNanos.add(Work.cpuNanos() - begin);
                    clockedCalls.increment();
                } else {
                    Work.sink = Work.spin(1.0, rounds);
                }
                tableLock.lock();
                try {
                    table.merge(request.key, 1, Integer::sum);
                } finally {
                    tableLock.unlock();
                }
                request.reply.complete(request.key);
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
