package headway.workloads;

import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

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
        ExecutorService pool = Executors.newFixedThreadPool(workers);
        ScheduledExecutorService ticker = Executors.newScheduledThreadPool(1);
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
        timer.schedule(new TimerTask() {
            @Override
            public void run() {
                ticks.incrementAndGet();
            }
        }, period, period);
        long begin = System.nanoTime();
        Work.sleep((long) (Work.argument(args, 1, 1.0) * 1000));
        long end = System.nanoTime();
        queue.put(1);
        Work.join(consumer);
        pool.shutdown();
        ticker.shutdown();
        timer.cancel();
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
}
