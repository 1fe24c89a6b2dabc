package headway.workloads;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Known answers for a sampler: how much CPU time each of two methods took in each of several threads, by the thread's own CPU
 * clock; how much a thread allocated, by the JVM's count; how long a thread slept.
 *
 * <p>Arguments: milliseconds of CPU time per thread (1200); such threads (2); megabytes to allocate (512).
 */
public final class Sampled {
    private static final long STEP_NANOS = 700_000;
    private static final int BLOCK = 1 << 14;

    private Sampled() {}

    public static void main(String[] args) {
        long nanos = Work.argument(args, 0, 1200) * 1_000_000L;
        int count = Work.argument(args, 1, 2);
        long bytes = Work.argument(args, 2, 512) * (1L << 20);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            // Shares that differ from thread to thread: 1/4, 2/5, 3/6, ...
            int[] parts = {i + 1, 3};
            threads.add(new Thread(() -> split(nanos, parts), "split-" + i));
        }
        threads.add(new Thread(() -> allocates(bytes), "allocator"));
        Thread napper = new Thread(Sampled::naps, "napper");
        napper.start();
        threads.forEach(Thread::start);
        threads.forEach(Work::join);
        napper.interrupt();
        Work.join(napper);
        Report.of("done").print();
    }

    private static void split(long nanos, int[] parts) {
        long begin = Work.cpuNanos();
        long[] spent = new long[2];
        // Steps of random length: none of them keeps step with the sampler.
        SplittableRandom random = new SplittableRandom(parts[0]);
        for (long at = begin; at < begin + nanos;) {
            alpha(parts[0] * random.nextLong(STEP_NANOS / 2, STEP_NANOS * 3 / 2));
            long middle = Work.cpuNanos();
            beta(parts[1] * random.nextLong(STEP_NANOS / 2, STEP_NANOS * 3 / 2));
            long end = Work.cpuNanos();
            spent[0] += middle - at;
            spent[1] += end - middle;
            at = end;
        }
        Report.of("split").put("thread", Thread.currentThread().getName()).put("alpha_ns", spent[0])
                .put("beta_ns", spent[1]).print();
    }

    private static void alpha(long nanos) {
        Work.burnCpu(nanos);
    }

    private static void beta(long nanos) {
        Work.burnCpu(nanos);
    }

    private static void allocates(long bytes) {
        var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long id = Thread.currentThread().getId();
        long before = threads.getThreadAllocatedBytes(id);
        allocate(bytes);
        Report.of("allocated").put("bytes", threads.getThreadAllocatedBytes(id) - before).print();
    }

    private static void allocate(long bytes) {
        byte[][] ring = new byte[64][];
        for (long done = 0; done < bytes; done += BLOCK) {
            ring[(int) (done / BLOCK % ring.length)] = new byte[BLOCK];
        }
        Work.sink = ring[0].length;
    }

    private static void naps() {
        long begin = System.nanoTime();
        try {
            Thread.sleep(600_000);
        } catch (InterruptedException e) {
            Report.of("napped").put("begin_ns", begin).put("end_ns", System.nanoTime()).print();
        }
    }
}
