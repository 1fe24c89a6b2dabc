package headway.workloads;

import java.util.List;

/**
 * Many threads, one lock, a little computing with it held.
 *
 * <p>Arguments: juc or monitor (juc); threads (64); seconds (2); microseconds of computing per hold (50); a file for every
 * acquisition (none).
 */
public final class SharedLock {
    private static volatile boolean over;

    private SharedLock() {}

    public static void main(String[] args) {
        MeasuredLock lock = MeasuredLock.of(Work.argument(args, 0, "juc"), "shared");
        int rounds = Work.argument(args, 3, 50) * 500;
        Thread[] threads = new Thread[Work.argument(args, 1, 64)];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                do { // one that comes late has its turn, too
                    lock.with(() -> Work.sink = Work.spin(1.0, rounds));
                } while (!over);
            }, "sharer-" + i);
        }
        long begin = System.nanoTime();
        for (Thread thread : threads) {
            thread.start();
        }
        long stop = begin + (long) (Work.argument(args, 2, 2.0) * 1e9);
        Work.await(() -> System.nanoTime() >= stop && (threads.length == 1 || lock.hasQueued()));
        over = true;
        for (Thread thread : threads) {
            Work.join(thread);
        }
        long end = System.nanoTime();
        String log = Work.argument(args, 4, "");
        if (!log.isEmpty()) {
            MeasuredLock.writeLog(java.nio.file.Path.of(log), List.of(lock));
        }
        Report.of("shared_lock").put("begin_ns", begin).put("end_ns", end).put("threads", threads.length)
                .put("locks", List.of(lock.report())).print();
    }
}
