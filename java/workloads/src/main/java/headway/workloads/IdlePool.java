package headway.workloads;

import java.util.List;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that have nothing to do: pool workers without tasks, a consumer of an empty queue, timers of both kinds. Much
 * waiting, and nothing contended.
 *
 * <p>Arguments: pool workers (8); seconds (1); milliseconds between two timer ticks (20).
 */
public final class IdlePool {
    private IdlePool() {}

    public static void main(String[] args) throws InterruptedException {
        int workers = Work.argument(args, 0, 8);
        List<Thread> threads = new CopyOnWriteArrayList<>();
        ExecutorService pool = Executors.newFixedThreadPool(workers, task -> made(threads, task));
        ScheduledExecutorService ticker = Executors.newScheduledThreadPool(1, task -> made(threads, task));
        Timer timer = new Timer("timer");
        LinkedBlockingQueue<Integer> queue = new LinkedBlockingQueue<>();
        AtomicLong done = new AtomicLong();
        AtomicLong ticks = new AtomicLong();
        for (int i = 0; i < workers; i++) {
            pool.execute(done::incrementAndGet);
        }
        int period = Work.argument(args, 2, 20);
        ticker.scheduleAtFixedRate(ticks::incrementAndGet, period, period, TimeUnit.MILLISECONDS);
        Thread consumer = new Thread(() -> consume(queue), "consumer");
        consumer.start();
        threads.add(consumer);
        AtomicReference<Thread> ofTimer = new AtomicReference<>();
        timer.schedule(new TimerTask() {
            @Override
            public void run() {
                ofTimer.set(Thread.currentThread());
                ticks.incrementAndGet();
            }
        }, period, period);
        // Workers meet at the lock of their queue as they come into being: until the last of them has come through.
        Work.await(() -> done.get() == workers && ofTimer.get() != null && threads.stream().allMatch(IdlePool::isIdle));
        threads.add(ofTimer.get());
        long begin = System.nanoTime();
        long ticked = ticks.get();
        Work.sleep((long) (Work.argument(args, 1, 1.0) * 1000));
        Work.await(() -> ticks.get() > ticked);
        long end = System.nanoTime();
        queue.put(1);
        Work.join(consumer);
        pool.shutdown();
        ticker.shutdown();
        timer.cancel();
        Report.of("idle_pool").put("begin_ns", begin).put("end_ns", end).put("workers", workers).put("done", done.get())
                .put("ticks", ticks.get() - ticked).put("java_ids", threads.stream().mapToLong(Thread::getId).toArray())
                .print();
    }

    private static Thread made(List<Thread> threads, Runnable task) {
        Thread thread = new Thread(task, "idle-" + threads.size());
        threads.add(thread);
        return thread;
    }

    /** Whether a thread waits at a condition of its queue, not for the queue's lock. */
    private static boolean isIdle(Thread thread) {
        return LockSupport.getBlocker(thread) instanceof Condition;
    }

    private static void consume(LinkedBlockingQueue<Integer> queue) {
        try {
            queue.take();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
