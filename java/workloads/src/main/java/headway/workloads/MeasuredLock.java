package headway.workloads;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A lock that measures each of its acquisitions: when it was asked for, got and given back, and whether others were queued
 * for it when it was got. What is measured is kept under the lock itself, so that measuring adds no second one.
 */
abstract class MeasuredLock {
    /** One acquisition; the log has a line of each. */
    record Acquisition(long javaId, long asked, long acquired, long released, boolean queued) {}

    private final String name;
    private final List<Acquisition> log = new ArrayList<>();

    private MeasuredLock(String name) {
        this.name = name;
    }

    /** A lock of java.util.concurrent ("juc") or a monitor ("monitor"). */
    static MeasuredLock of(String kind, String name) {
        return switch (kind) {
            case "juc" -> new Juc(name);
            case "monitor" -> new Monitor(name);
            default -> throw new IllegalArgumentException("juc or monitor, not " + kind);
        };
    }

    /** Lets two threads meet at a lock, so that the JDK's classes are there when many do. */
    static void warmUp(String kind) {
        MeasuredLock lock = of(kind, "warm-up");
        Thread other = new Thread(() -> lock.with(() -> {}), "warm-up");
        lock.with(() -> {
            other.start();
            Work.await(() -> Blockers.isBlocked(other));
        });
        Work.join(other);
    }

    /** Runs {@code section} with the lock held. */
    abstract void with(Runnable section);

    /** The object that threads block on. */
    abstract Object blocker();

    /** Whether a thread waits for the lock. Exact for "juc"; a monitor's threads count from just before they ask. */
    abstract boolean hasQueued();

    final void measured(long asked, Runnable section) {
        long acquired = System.nanoTime();
        boolean queued = hasQueued();
        section.run();
        log.add(new Acquisition(Thread.currentThread().getId(), asked, acquired, System.nanoTime(), queued));
    }

    /** What it measured: sums over all acquisitions, and over those that others were queued for. */
    final Report report() {
        long hold = 0;
        long wait = 0;
        long queuedHold = 0;
        long queued = 0;
        for (Acquisition each : log) {
            long held = each.released - each.acquired;
            hold += held;
            wait += each.acquired - each.asked;
            queuedHold += each.queued ? held : 0;
            queued += each.queued ? 1 : 0;
        }
        return Report.of("lock").put("name", name).put("identity_hash", System.identityHashCode(blocker()))
                .put("class", blocker().getClass().getName()).put("acquisitions", log.size()).put("hold_ns", hold)
                .put("wait_ns", wait).put("queued_acquisitions", queued).put("queued_hold_ns", queuedHold);
    }

    /** Writes every acquisition of {@code locks} as a line of numbers. */
    static void writeLog(Path file, List<MeasuredLock> locks) {
        try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(file))) {
            out.println("lock,java_id,asked_ns,acquired_ns,released_ns,queued");
            for (MeasuredLock lock : locks) {
                for (Acquisition each : lock.log) {
                    out.printf("%s,%d,%d,%d,%d,%d%n", lock.name, each.javaId, each.asked, each.acquired,
                            each.released, each.queued ? 1 : 0);
                }
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static final class Juc extends MeasuredLock {
        private final ReentrantLock lock = new ReentrantLock();

        Juc(String name) {
            super(name);
        }

        @Override
        void with(Runnable section) {
            long asked = System.nanoTime();
            lock.lock();
            try {
                measured(asked, section);
            } finally {
                lock.unlock();
            }
        }

        @Override
        Object blocker() {
            return Blockers.of(lock);
        }

        @Override
        boolean hasQueued() {
            return lock.hasQueuedThreads();
        }
    }

    private static final class Monitor extends MeasuredLock {
        private final Object monitor = new Object();
        private final AtomicInteger asking = new AtomicInteger();

        Monitor(String name) {
            super(name);
        }

        @Override
        void with(Runnable section) {
            asking.incrementAndGet();
            long asked = System.nanoTime();
            synchronized (monitor) {
                asking.decrementAndGet();
                measured(asked, section);
            }
        }

        @Override
        Object blocker() {
            return monitor;
        }

        @Override
        boolean hasQueued() {
            return asking.get() > 0;
        }
    }
}
