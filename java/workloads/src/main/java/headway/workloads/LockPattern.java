package headway.workloads;

import java.nio.file.Path;
import java.util.List;

/** What the programs with locks held by sleeping threads have in common: threads that go round until the time is over. */
final class LockPattern {
    /** One step of a thread: which lock it takes, and how long it sleeps with it. */
    interface Steps {
        void round(LockPattern pattern);
    }

    private final List<MeasuredLock> locks;
    private final long[] sleepNanos;
    private final long[] counts;
    private volatile boolean over;

    LockPattern(List<MeasuredLock> locks, long... sleepNanos) {
        this.locks = locks;
        this.sleepNanos = sleepNanos;
        this.counts = new long[locks.size()];
    }

    /** Takes a lock and sleeps with it. Whoever gets it after the end gives it back at once, so that the program ends. */
    void hold(int lock) {
        locks.get(lock).with(() -> {
            if (!over) {
                counts[lock]++;
                sleep(sleepNanos[lock]);
            }
        });
    }

    private static void sleep(long nanos) {
        try {
            Thread.sleep(nanos / 1_000_000, (int) (nanos % 1_000_000));
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Runs {@code threads} threads for a time and prints what each lock measured; writes all acquisitions if asked to. */
    void run(String event, int threads, double seconds, Steps steps, String log) {
        Thread[] all = new Thread[threads];
        long[] ids = new long[threads];
        for (int i = 0; i < threads; i++) {
            all[i] = new Thread(() -> {
                while (!over) {
                    steps.round(this);
                }
            }, "locker-" + i);
            ids[i] = all[i].getId();
        }
        long begin = System.nanoTime();
        for (Thread thread : all) {
            thread.start();
        }
        long stop = begin + (long) (seconds * 1e9);
        Work.await(() -> System.nanoTime() >= stop);
        over = true;
        long stopped = System.nanoTime();
        for (Thread thread : all) {
            Work.join(thread);
        }
        long end = System.nanoTime();
        if (!log.isEmpty()) {
            MeasuredLock.writeLog(Path.of(log), locks);
        }
        Report.of(event).put("begin_ns", begin).put("stop_ns", stopped).put("end_ns", end).put("threads", threads)
                .put("java_ids", ids).put("sleeps", counts)
                .put("locks", locks.stream().map(MeasuredLock::report).toList()).print();
    }
}
