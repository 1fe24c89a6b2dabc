package headway.workloads;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Phases of exactly 1, 2, 0 and 4 active threads. A phase begins once its workers compute, and its end is taken before the
 * first of them stops, so between the printed times exactly that many threads are active, whatever the machine does.
 *
 * <p>Arguments: milliseconds of CPU time per thread and phase (200); the phases ("1,2,0,4").
 */
public final class Phases {
    private Phases() {}

    public static void main(String[] args) {
        long nanos = Work.argument(args, 0, 200) * 1_000_000L;
        String plan = args.length > 1 ? args[1] : "1,2,0,4";
        Work.burnCpu(20_000_000); // so that the first phase finds its code compiled
        sleeps(); // and classes loaded
        int phase = 0;
        for (String count : plan.split(",")) {
            run(phase++, Integer.parseInt(count), nanos);
        }
    }

    private static void run(int phase, int workers, long nanos) {
        long begin;
        long end;
        long cpu = 0;
        long sleeps = 0;
        if (workers == 0) {
            begin = System.nanoTime();
            end = begin + nanos;
            while (System.nanoTime() < end) {
                LockSupport.parkNanos(end - System.nanoTime());
            }
            end = System.nanoTime();
        } else {
            Crew crew = new Crew(phase, workers, nanos);
            crew.work();
            begin = crew.begin();
            end = crew.end();
            cpu = crew.cpu();
            sleeps = crew.sleeps();
        }
        Report.of("phase").put("phase", phase).put("active", workers).put("begin_ns", begin).put("end_ns", end)
                .put("worker_cpu_ns", cpu).put("worker_sleeps", sleeps).print();
    }

    /** How often the calling thread gave up its core by itself so far, by the kernel's count. */
    private static long sleeps() {
        try (var lines = Files.lines(Path.of("/proc/thread-self/status"))) {
            String line = lines.filter(each -> each.startsWith("voluntary_ctxt_switches:")).findFirst().orElseThrow();
            return Long.parseLong(line.substring(line.indexOf(':') + 1).strip());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /**
     * The workers of one phase; the main thread sleeps in join() while they compute. Nothing here takes a lock; the JVM may make
     * a worker wait for one of its own, and sleeps() tells whether it did.
     */
    private static final class Crew {
        private final Thread main = Thread.currentThread();
        private final AtomicInteger computing = new AtomicInteger();
        private final AtomicLong firstEnd = new AtomicLong();
        private final AtomicLong firstBegin = new AtomicLong();
        private final Thread[] threads;
        private final long[] cpu;
        private final long[] sleeps;
        private volatile boolean over;

        Crew(int phase, int workers, long nanos) {
            threads = new Thread[workers];
            cpu = new long[workers];
            sleeps = new long[workers];
            for (int i = 0; i < workers; i++) {
                int me = i;
                threads[i] = new Thread(() -> compute(me, nanos), "phase-" + phase + "-worker-" + i);
            }
        }

        void work() {
            for (Thread thread : threads) {
                thread.start();
            }
            for (Thread thread : threads) {
                Work.join(thread);
            }
        }

        private void compute(int me, long nanos) {
            long sleepsBefore = Phases.sleeps();
            long before = Work.cpuNanos();
            computing.incrementAndGet();
            boolean begun = false;
            double x = 1.0;
            while (!over) {
                x = Work.spin(x, 20_000);
                if (!begun && computing.get() == threads.length && main.getState() == Thread.State.WAITING) {
                    begun = true;
                    firstBegin.compareAndSet(0, System.nanoTime());
                }
                if (begun && Work.cpuNanos() - before >= nanos) {
                    firstEnd.compareAndSet(0, System.nanoTime());
                    over = true;
                }
            }
            Work.sink = x;
            cpu[me] = Work.cpuNanos() - before;
            sleeps[me] = Phases.sleeps() - sleepsBefore;
        }

        long begin() {
            return firstBegin.get();
        }

        long end() {
            return firstEnd.get();
        }

        long cpu() {
            return Arrays.stream(cpu).sum();
        }

        long sleeps() {
            return Arrays.stream(sleeps).sum();
        }
    }
}
