package headway.workloads;

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Four waits of the main thread, one after another, whose critical path is known: for the slower of two workers, for a lock whose holder
 * waits for another lock, for a producer, and for time to pass. Each prints when it began and ended.
 *
 * <p>Arguments: milliseconds of CPU time that is waited for in each (200).
 */
public final class PathCases {
    private static final int ITEMS = 20;

    private PathCases() {}

    public static void main(String[] args) throws InterruptedException {
        long nanos = Work.argument(args, 0, 200) * 1_000_000L;
        join(nanos);
        locks(nanos);
        queue(nanos);
        long begin = System.nanoTime();
        Thread.sleep(nanos / 1_000_000);
        report("sleep", begin);
    }

    private static void join(long nanos) throws InterruptedException {
        Thread quick = started("join-quick", () -> Work.burnCpu(nanos / 10));
        Thread slow = started("join-slow", () -> Work.burnCpu(nanos));
        long begin = System.nanoTime();
        slow.join();
        quick.join();
        report("join", begin);
    }

    /** The first thread holds one lock and waits for the second one's; main comes when both are held. */
    private static void locks(long nanos) throws InterruptedException {
        ReentrantLock outer = new ReentrantLock();
        ReentrantLock inner = new ReentrantLock();
        CountDownLatch innerHeld = new CountDownLatch(1);
        CountDownLatch outerHeld = new CountDownLatch(1);
        Thread second = started("lock-second", () -> {
            inner.lock();
            innerHeld.countDown();
            await(outerHeld);
            Work.burnCpu(nanos);
            inner.unlock();
        });
        Thread first = started("lock-first", () -> {
            await(innerHeld);
            outer.lock();
            outerHeld.countDown();
            inner.lock();
            inner.unlock();
            outer.unlock();
        });
        outerHeld.await();
        long begin = System.nanoTime();
        outer.lock();
        outer.unlock();
        report("locks", begin);
        first.join();
        second.join();
    }

    private static void queue(long nanos) throws InterruptedException {
        BlockingQueue<Integer> queue = new ArrayBlockingQueue<>(1);
        Thread producer = started("queue-producer", () -> {
            for (int i = 0; i < ITEMS; i++) {
                Work.burnCpu(nanos / ITEMS);
                put(queue, i);
            }
        });
        long begin = System.nanoTime();
        for (int i = 0; i < ITEMS; i++) {
            queue.take();
        }
        report("queue", begin);
        producer.join();
    }

    private static void report(String phase, long begin) {
        Report.of(phase).put("begin_ns", begin).put("end_ns", System.nanoTime()).print();
    }

    private static Thread started(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.start();
        return thread;
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void put(BlockingQueue<Integer> queue, int item) {
        try {
            queue.put(item);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
