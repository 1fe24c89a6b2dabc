package headway.workloads;

import java.lang.reflect.Method;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Virtual threads that all want one lock at once: the main thread holds it until all of them are queued.
 *
 * <p>Arguments: virtual threads (10000); rounds of computing per hold (1000).
 */
public final class VirtualLock {
    private VirtualLock() {}

    public static void main(String[] args) throws ReflectiveOperationException {
        int count = Work.argument(args, 0, 10_000);
        int rounds = Work.argument(args, 1, 1000);
        if (Runtime.version().feature() < 21) {
            Report.of("virtual_lock").put("supported", false).print();
            return;
        }
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        ReentrantLock lock = new ReentrantLock();
        AtomicLong held = new AtomicLong();
        Thread[] threads = new Thread[count];
        lock.lock();
        for (int i = 0; i < count; i++) {
            Runnable task = () -> {
                lock.lock();
                try {
                    Work.sink = Work.spin(1.0, rounds);
                    held.incrementAndGet();
                } finally {
                    lock.unlock();
                }
            };
            threads[i] = (Thread) start.invoke(null, task);
        }
        Work.await(() -> lock.getQueueLength() == count);
        Work.await(() -> List.of(threads).stream().allMatch(Blockers::isBlocked));
        long begin = System.nanoTime();
        Work.sleep(50);
        long end = System.nanoTime();
        lock.unlock();
        for (Thread thread : threads) {
            Work.join(thread);
        }
        Report.of("virtual_lock").put("supported", true).put("threads", count).put("held", held.get())
                .put("all_parked_begin_ns", begin).put("all_parked_end_ns", end).put("end_ns", System.nanoTime())
                .put("identity_hash", System.identityHashCode(Blockers.of(lock))).print();
    }
}
