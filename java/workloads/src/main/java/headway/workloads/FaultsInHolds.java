package headway.workloads;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads that touch fresh memory while they hold a lock, once each in every round; garbage is collected before each round. All of
 * them are queued before the first gives the lock back. Each sleeps in its hold before and after it touches, so that the faults
 * lie in slices that lie in the hold as a whole; it counts them by the kernel's own record of it.
 *
 * <p>Arguments: rounds (3); threads (4); pages of a touch (500).
 */
public final class FaultsInHolds {
    private static final ReentrantLock LOCK = new ReentrantLock(true);
    private static final List<Report> HOLDS = new ArrayList<>();
    private static final List<ByteBuffer> TOUCHED = new ArrayList<>();

    private FaultsInHolds() {}

    public static void main(String[] args) throws Exception {
        int rounds = Work.argument(args, 0, 3);
        int threads = Work.argument(args, 1, 4);
        int pages = Work.argument(args, 2, 500);
        CyclicBarrier begin = new CyclicBarrier(threads + 1);
        CyclicBarrier end = new CyclicBarrier(threads + 1);
        for (int thread = 0; thread < threads; thread++) {
            Thread worker = new Thread(() -> {
                for (int round = 0; round < rounds; round++) {
                    await(begin);
                    hold(round, threads, pages);
                    await(end);
                }
            }, "toucher-" + thread);
            worker.setDaemon(true);
            worker.start();
        }
        hold(-1, 1, pages); // its classes are loaded
        for (int round = 0; round < rounds; round++) {
            System.gc();
            await(begin);
            await(end);
        }
        Report.of("faults_in_holds").put("identity_hash", System.identityHashCode(Blockers.of(LOCK)))
                .put("holds", HOLDS).print();
    }

    private static void hold(int round, int threads, int pages) {
        LOCK.lock();
        try {
            long acquired = System.nanoTime();
            if (HOLDS.size() % threads == 1 || threads == 1) {
                Work.await(() -> LOCK.getQueueLength() == threads - 1);
            }
            Work.sleep(1);
            long before = faults();
            TOUCHED.add(ByteBuffer.allocateDirect(pages * 4096)); // the JDK fills it with zeros
            long after = faults();
            Work.sleep(1);
            HOLDS.add(Report.of("hold").put("round", round).put("java_id", Thread.currentThread().getId())
                    .put("acquired_ns", acquired).put("faults", after - before));
        } finally {
            LOCK.unlock();
        }
    }

    /** How many page faults the calling thread has had. */
    private static long faults() {
        try {
            String stat = Files.readString(Path.of("/proc/thread-self/stat"));
            String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
            return Long.parseLong(fields[7]) + Long.parseLong(fields[9]);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void await(CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }
}
