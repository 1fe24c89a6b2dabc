package headway.workloads.harm;

import java.util.concurrent.CountDownLatch;

/**
 * What could break under a profiler that interrupts threads and holds them up: each kind checks its own results, and prints
 * "ok KIND" when all were right.
 *
 * <p>Arguments: kind, milliseconds (600). A thread beside it computes in {@link #beat} all the while, so that an experiment on that
 * method holds everybody else up. Kinds: see {@link Kinds}, {@link Blocking}.
 */
public final class Stress {
    /** What is done again and again until the time is up; throws when something is wrong. */
    interface Round {
        void run() throws Exception;
    }

    private static volatile double sink;
    private static volatile boolean isOver;

    private Stress() {}

    public static void main(String[] args) throws Exception {
        String kind = args[0];
        long millis = args.length > 1 ? Long.parseLong(args[1]) : 600;
        Thread beater = new Thread(Stress::beatOn, "beater");
        beater.setDaemon(true);
        beater.start();
        Round round = Blocking.KINDS.containsKey(kind) ? Blocking.KINDS.get(kind) : Kinds.of(kind);
        long end = System.nanoTime() + millis * 1_000_000;
        Throwable[] problems = new Throwable[2];
        CountDownLatch done = new CountDownLatch(problems.length);
        for (int i = 0; i < problems.length; i++) {
            int number = i;
            Runnable rounds = () -> {
                try {
                    do {
                        round.run();
                    } while (System.nanoTime() < end);
                } catch (Throwable problem) {
                    problems[number] = problem;
                }
                done.countDown();
            };
            new Thread(null, rounds, "worker " + i, 256L << 20).start();
        }
        done.await();
        isOver = true;
        beater.join();
        for (Throwable problem : problems) {
            if (problem != null) {
                throw new AssertionError(kind, problem);
            }
        }
        System.out.println("ok " + kind);
    }

    private static void beatOn() {
        while (!isOver) {
            beat();
        }
    }

    /** The method that experiments make faster. */
    static void beat() {
        double x = sink;
        for (int i = 0; i < 200_000; i++) {
            x = x * 1.0000001 + 1e-9;
        }
        sink = x;
    }

    static void check(boolean isRight, String what) {
        if (!isRight) {
            throw new AssertionError(what);
        }
    }
}
