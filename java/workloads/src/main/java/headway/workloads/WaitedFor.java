package headway.workloads;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.Phaser;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/**
 * Threads that wait for a thread that the program knows: the last one at a barrier, who counts a latch down, who ends or
 * completes what is joined, the other side of a queue. Whoever lets them go does so when it sees them blocked, so each wait is
 * real. One line of JSON: for each way of waiting, who waited from when to when, and for whom.
 *
 * <p>Arguments: rounds of each (8).
 */
public final class WaitedFor {
    private static final int TEAM = 4;

    private final String name;
    private final List<long[]> waits = new ArrayList<>();

    private WaitedFor(String name) {
        this.name = name;
    }

    public static void main(String[] args) throws InterruptedException {
        all(2); // so that all classes are there: who waits for one to be initialised looks as if it were blocked where it is not
        List<WaitedFor> all = all(Work.argument(args, 0, 8));
        Report.of("waited_for").put("ways", all.stream().map(WaitedFor::report).toList()).print();
    }

    private static List<WaitedFor> all(int rounds) throws InterruptedException {
        CyclicBarrier barrier = new CyclicBarrier(TEAM);
        Phaser phaser = new Phaser(TEAM);
        ArrayBlockingQueue<Integer> full = new ArrayBlockingQueue<>(1);
        ArrayBlockingQueue<Integer> empty = new ArrayBlockingQueue<>(1);
        List<WaitedFor> all = new ArrayList<>();
        all.add(new WaitedFor("barrier").inTurns(rounds, () -> await(barrier), () -> barrier.getNumberWaiting() == TEAM - 1));
        all.add(new WaitedFor("phaser")
                .inTurns(rounds, phaser::arriveAndAwaitAdvance, () -> phaser.getUnarrivedParties() == 1));
        all.add(new WaitedFor("latch").latches(rounds));
        all.add(new WaitedFor("join").joins(rounds));
        all.add(new WaitedFor("future").futures(rounds));
        all.add(new WaitedFor("termination").terminations(rounds));
        full.put(0);
        all.add(new WaitedFor("full queue").atQueue(rounds, () -> full.put(1), full::take));
        all.add(new WaitedFor("empty queue").atQueue(rounds, empty::take, () -> empty.put(1)));
        return all;
    }

    private interface Action {
        void run() throws InterruptedException;
    }

    private static void await(CyclicBarrier barrier) throws InterruptedException {
        try {
            barrier.await();
        } catch (BrokenBarrierException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Waits in {@code action} for {@code target}. */
    private void waitFor(long target, Action action) {
        long begin = System.nanoTime();
        perform(action);
        long end = System.nanoTime();
        synchronized (waits) {
            waits.add(new long[] {Thread.currentThread().getId(), begin, end, target});
        }
    }

    private static void perform(Action action) {
        try {
            action.run();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static boolean isBlocked(Thread thread) {
        return thread.getState() == Thread.State.WAITING;
    }

    /** A team meets again and again; each time another one of it comes last, when all the others are there. */
    private WaitedFor inTurns(int rounds, Action meet, BooleanSupplier othersCame) {
        Thread[] team = new Thread[TEAM];
        for (int i = 0; i < TEAM; i++) {
            int me = i;
            team[i] = new Thread(() -> {
                for (int round = 0; round < rounds; round++) {
                    int last = round % TEAM;
                    if (me == last) {
                        Work.await(othersCame);
                        for (Thread other : team) {
                            Work.await(() -> other == Thread.currentThread() || Blockers.isBlocked(other));
                        }
                        perform(meet);
                    } else {
                        waitFor(team[last].getId(), meet);
                    }
                }
            }, name + "-" + i);
        }
        return play(team);
    }

    private WaitedFor play(Thread[] threads) {
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            Work.await(() -> !thread.isAlive()); // seen without a wait of its own
        }
        return this;
    }

    /** Several threads wait for each latch; the main one counts it down. */
    private WaitedFor latches(int rounds) {
        long me = Thread.currentThread().getId();
        for (int round = 0; round < rounds; round++) {
            CountDownLatch latch = new CountDownLatch(1);
            Thread[] waiting = new Thread[TEAM - 1];
            for (int i = 0; i < waiting.length; i++) {
                waiting[i] = new Thread(() -> waitFor(me, latch::await), name + "-" + i);
                waiting[i].start();
            }
            for (Thread each : waiting) {
                Work.await(() -> Blockers.isBlocked(each));
            }
            latch.countDown();
            for (Thread each : waiting) {
                Work.await(() -> !each.isAlive());
            }
        }
        return this;
    }

    private WaitedFor joins(int rounds) {
        Thread me = Thread.currentThread();
        for (int round = 0; round < rounds; round++) {
            Thread ending = new Thread(() -> Work.await(() -> isBlocked(me)), "joined");
            ending.start();
            waitFor(ending.getId(), ending::join);
        }
        return this;
    }

    private WaitedFor futures(int rounds) {
        Thread me = Thread.currentThread();
        AtomicLong worker = new AtomicLong();
        ExecutorService pool = Executors.newSingleThreadExecutor();
        for (int round = 0; round < rounds; round++) {
            Future<?> future = pool.submit(() -> {
                worker.set(Thread.currentThread().getId());
                // Not at the pool's own queue.
                Work.await(() -> LockSupport.getBlocker(me) instanceof Future && isBlocked(me));
            });
            Work.await(() -> worker.get() != 0);
            waitFor(worker.get(), () -> get(future));
        }
        pool.shutdown();
        return this;
    }

    private static void get(Future<?> future) throws InterruptedException {
        try {
            future.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }

    private WaitedFor terminations(int rounds) {
        Thread me = Thread.currentThread();
        for (int round = 0; round < rounds; round++) {
            long[] worker = new long[1];
            ExecutorService pool = Executors.newSingleThreadExecutor(task -> {
                Thread thread = new Thread(task, "terminated");
                worker[0] = thread.getId();
                return thread;
            });
            pool.execute(() -> Work.await(() -> me.getState() == Thread.State.TIMED_WAITING && inTermination(me)));
            pool.shutdown();
            waitFor(worker[0], () -> pool.awaitTermination(1, TimeUnit.HOURS));
        }
        return this;
    }

    private static boolean inTermination(Thread thread) {
        for (StackTraceElement frame : thread.getStackTrace()) {
            if (frame.getMethodName().equals("awaitNanos")) {
                return true;
            }
        }
        return false;
    }

    /** The thread named like the queue waits at it, the main one lets it go. */
    private WaitedFor atQueue(int rounds, Action blocks, Action releases) {
        long me = Thread.currentThread().getId();
        Thread waiting = new Thread(() -> {
            for (int round = 0; round < rounds; round++) {
                waitFor(me, blocks);
            }
        }, name);
        waiting.start();
        for (int round = 0; round < rounds; round++) {
            Work.await(() -> isBlocked(waiting));
            int done = round;
            perform(releases);
            Work.await(() -> seen() > done);
        }
        Work.await(() -> !waiting.isAlive());
        return this;
    }

    private int seen() {
        synchronized (waits) {
            return waits.size();
        }
    }

    private Report report() {
        return Report.of("way").put("name", name).put("java_ids", column(0)).put("begin_ns", column(1))
                .put("end_ns", column(2)).put("targets", column(3));
    }

    private long[] column(int index) {
        return waits.stream().mapToLong(each -> each[index]).toArray();
    }
}
