package headway.workloads;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Threads that have nothing to do: pool workers without tasks, a consumer of an empty queue, timers, a thread in Object.wait.
 * Much waiting, and nothing contended.
 *
 * <p>Arguments: pool workers (8); seconds (1); milliseconds between two timer ticks (20).
 */
public final class IdlePool {
    private static final Object BELL = new Object();
    private static volatile boolean over;

    private IdlePool() {}

    public static void main(String[] args) throws InterruptedException {
        int workers = Work.argument(args, 0, 8);
        ExecutorService pool = Executors.newFixedThreadPool(workers);
        ScheduledExecutorService timers = Executors.newScheduledThreadPool(2);
        LinkedBlockingQueue<Integer> queue = new LinkedBlockingQueue<>();
        AtomicLong done = new AtomicLong();
        AtomicLong ticks = new AtomicLong();
        for (int i = 0; i < workers; i++) {
            pool.execute(done::incrementAndGet);
        }
        int period = Work.argument(args, 2, 20);
        timers.scheduleAtFixedRate(ticks::incrementAndGet, period, period, TimeUnit.MILLISECONDS);
        Thread consumer = new Thread(() -> consume(queue), "consumer");
        Thread listener = new Thread(IdlePool::listen, "listener");
        consumer.start();
        listener.start();
        long begin = System.nanoTime();
        Work.sleep((long) (Work.argument(args, 1, 1.0) * 1000));
        long end = System.nanoTime();
        over = true;
        queue.put(1);
        synchronized (BELL) {
            BELL.notifyAll();
        }
        Work.join(consumer);
        Work.join(listener);
        pool.shutdown();
        timers.shutdown();
        Report.of("idle_pool").put("begin_ns", begin).put("end_ns", end).put("workers", workers).put("done", done.get())
                .put("ticks", ticks.get()).print();
    }

    private static void consume(LinkedBlockingQueue<Integer> queue) {
        try {
            queue.take();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void listen() {
        synchronized (BELL) {
            while (!over) {
                try {
                    BELL.wait(100);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        }
    }
}
