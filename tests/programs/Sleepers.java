import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads that sleep in one line beside one that works on request. Argument: how many. Each line of standard input is answered by
 * one: "work N" makes N visits, "wait MS" waits so long for nobody, "crowd N" starts threads that stay until "disperse", "skip N"
 * makes threads that are never started, "hold MS" parks so long with a lock and says for how many nanoseconds it was, "lend MS"
 * waits so long twice, having given that lock back, "brief MS" waits for no time again and again and says how much CPU time that
 * took, "keep MS" computes so long with the lock and says how much CPU time that took, "nap MS" starts a thread that sleeps so long
 * once and says, as soon as it sleeps, for how many nanoseconds a thread that wakes another one now is held up, "busy MS" does so
 * and runs itself meanwhile, and says for how many nanoseconds it was held up at a time, "rouse MS" starts one and interrupts it, and
 * says after how many nanoseconds it goes on, "doze N" sleeps N times half a millisecond, "together N MS" has N threads sleep so long
 * in one line and says when each began and ended, "end".
 */
public final class Sleepers {
    private static final Object NOBODY = new Object();
    private static final Thread BYSTANDER = new Thread(LockSupport::park);
    private static final Held HELD = new Held();
    private static final ThreadMXBean CLOCKS = ManagementFactory.getThreadMXBean();
    private static final int MANY = 10_000;
    private static volatile double sink;

    private Sleepers() {}

    static void visited() {}

    static void sleep() {
        Object bed = new Object();
        try {
            synchronized (bed) {
                while (true) {
                    bed.wait(1_000); // sleeps
                }
            }
        } catch (InterruptedException ended) {
            throw new AssertionError(ended);
        }
    }

    static void work(int visits) {
        double x = 1;
        for (int i = 0; i < visits; i++) {
            for (int j = 0; j < 400_000; j++) {
                x = x * 1.0000001 + 1e-9;
            }
            visited();
        }
        sink = x;
    }

    static void waitFor(int millis) throws InterruptedException {
        synchronized (NOBODY) {
            NOBODY.wait(millis); // waits
        }
        visited();
    }

    /** The lock. */
    static final class Held extends ReentrantLock {
        private final transient Condition condition = newCondition();
    }

    static long hold(long millis) {
        long ns;
        synchronized (HELD) {
            long beginNs = System.nanoTime();
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(millis)); // parks
            ns = System.nanoTime() - beginNs;
        }
        HELD.lock();
        try {
            long beginNs = System.nanoTime();
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(millis));
            ns += System.nanoTime() - beginNs;
        } finally {
            HELD.unlock();
        }
        return ns;
    }

    static void giveBack(long millis) throws InterruptedException {
        synchronized (HELD) {
            HELD.wait(millis);
        }
        HELD.lock();
        try {
            HELD.condition.await(millis, TimeUnit.MILLISECONDS);
        } finally {
            HELD.unlock();
        }
    }

    static long brief(long millis) throws InterruptedException {
        long cpuNs = 0;
        HELD.lock();
        try {
            while (cpuNs < TimeUnit.MILLISECONDS.toNanos(millis)) {
                long beginNs = CLOCKS.getCurrentThreadCpuTime();
                for (int i = 0; i < MANY; i++) {
                    HELD.condition.awaitNanos(1); // too little to park for
                }
                cpuNs += CLOCKS.getCurrentThreadCpuTime() - beginNs;
            }
        } finally {
            HELD.unlock();
        }
        return cpuNs;
    }

    static long keep(long millis) {
        long cpuNs = 0;
        HELD.lock();
        try {
            while (cpuNs < TimeUnit.MILLISECONDS.toNanos(millis)) {
                long beginNs = CLOCKS.getCurrentThreadCpuTime();
                work(1);
                cpuNs += CLOCKS.getCurrentThreadCpuTime() - beginNs;
            }
        } finally {
            HELD.unlock();
        }
        return cpuNs;
    }

    static Thread napper(long millis, Runnable then) {
        Thread thread = new Thread(() -> {
            try {
                Thread.sleep(millis); // naps
            } catch (InterruptedException roused) {
                then.run();
            }
        });
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    /** How long a thread that runs all the while that another one naps is held up at most, at a time. */
    static long busy(long millis) {
        long longestNs = 0;
        Thread thread = napper(millis, () -> {});
        double x = 1;
        long lastNs = System.nanoTime();
        while (thread.getState() != Thread.State.TERMINATED) {
            for (int i = 0; i < 10_000; i++) { // nearly all of the time: reading a clock is no Java code
                x = x * 1.0000001 + 1e-9;
            }
            long nowNs = System.nanoTime();
            longestNs = Math.max(longestNs, nowNs - lastNs);
            lastNs = nowNs;
        }
        sink = x;
        return longestNs;
    }

    static Thread napping(long millis, Runnable then) throws InterruptedException {
        Thread thread = napper(millis, then);
        while (thread.getState() != Thread.State.TIMED_WAITING && thread.isAlive()) {
            Thread.onSpinWait();
        }
        return thread;
    }

    static long nap(long millis) throws InterruptedException {
        napping(millis, () -> {});
        long beginNs = System.nanoTime();
        LockSupport.unpark(BYSTANDER);
        return System.nanoTime() - beginNs;
    }

    static long rouse(long millis) throws InterruptedException {
        AtomicLong wentOnNs = new AtomicLong();
        Thread thread = napping(millis, () -> wentOnNs.set(System.nanoTime()));
        long beginNs = System.nanoTime();
        thread.interrupt();
        thread.join();
        return wentOnNs.get() - beginNs;
    }

    static void doze(int times) throws InterruptedException {
        for (int i = 0; i < times; i++) {
            Thread.sleep(0, 500_000); // dozes
        }
    }

    static String together(int threads, long millis) throws InterruptedException {
        CountDownLatch there = new CountDownLatch(threads);
        long[] timesNs = new long[2 * threads];
        Thread[] started = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            int at = 2 * i;
            started[i] = new Thread(() -> {
                stay(there, there);
                Object bed = new Object();
                timesNs[at] = System.nanoTime();
                try {
                    synchronized (bed) {
                        bed.wait(millis); // together
                    }
                } catch (InterruptedException ended) {
                    throw new AssertionError(ended);
                }
                timesNs[at + 1] = System.nanoTime();
            });
            started[i].start();
        }
        StringBuilder said = new StringBuilder("together");
        for (Thread thread : started) {
            thread.join();
        }
        for (long timeNs : timesNs) {
            said.append(' ').append(timeNs);
        }
        return said.toString();
    }

    static void stay(CountDownLatch there, CountDownLatch end) {
        there.countDown();
        try {
            end.await();
        } catch (InterruptedException ended) {
            throw new AssertionError(ended);
        }
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            Thread thread = new Thread(Sleepers::sleep, "sleeper " + i);
            thread.setDaemon(true);
            thread.start();
        }
        BYSTANDER.setDaemon(true);
        BYSTANDER.start();
        List<Thread> crowd = new ArrayList<>();
        CountDownLatch end = new CountDownLatch(1);
        Scanner in = new Scanner(System.in);
        System.out.println("ready");
        for (String word = in.next(); !word.equals("end"); word = in.next()) {
            switch (word) {
                case "work" -> work(in.nextInt());
                case "wait" -> waitFor(in.nextInt());
                case "crowd" -> {
                    CountDownLatch there = new CountDownLatch(in.nextInt());
                    for (long i = there.getCount(); i > 0; i--) {
                        Thread thread = new Thread(() -> stay(there, end));
                        thread.start();
                        crowd.add(thread);
                    }
                    there.await();
                }
                case "disperse" -> {
                    end.countDown();
                    for (Thread thread : crowd) {
                        thread.join();
                    }
                }
                case "skip" -> {
                    for (int i = in.nextInt(); i > 0; i--) {
                        new Thread(Sleepers::sleep);
                    }
                }
                case "nap" -> word += " " + nap(in.nextLong());
                case "rouse" -> word += " " + rouse(in.nextLong());
                case "busy" -> word += " " + busy(in.nextLong());
                case "doze" -> doze(in.nextInt());
                case "together" -> word = together(in.nextInt(), in.nextLong());
                case "hold" -> word += " " + hold(in.nextInt());
                case "lend" -> giveBack(in.nextInt());
                case "brief" -> word += " " + brief(in.nextInt());
                case "keep" -> word += " " + keep(in.nextInt());
                default -> throw new IllegalArgumentException(word);
            }
            System.out.println(word);
        }
    }
}
