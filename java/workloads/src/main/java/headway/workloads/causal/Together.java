package headway.workloads.causal;

import headway.workloads.Work;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.ForkJoinTask;

/** Threads that compute side by side. Each line that can be made faster says so in a comment. */
final class Together {
    private Together() {}

    /** A long and a short part, joined by a barrier: the long one counts, until it is the shorter one. */
    static void barrier(Play play) {
        Load longPart = play.micros("long", 1000);
        Load shortPart = play.micros("short", 500);
        CyclicBarrier barrier = new CyclicBarrier(2, Progress::visited);
        play.forever("long", x -> {
            x = Work.spin(x, longPart.size()); // line: long
            barrier.await();
            return x;
        });
        play.forever("short", x -> {
            x = Work.spin(x, shortPart.size()); // line: short
            barrier.await();
            return x;
        });
    }

    /** Half of the time one thread computes, then two do: both halves count alike, however many threads are in them. */
    static void halves(Play play) {
        Load serial = play.micros("serial", 500);
        Load parallel = play.micros("parallel", 500);
        CyclicBarrier begin = new CyclicBarrier(2);
        CyclicBarrier end = new CyclicBarrier(2);
        play.forever("main part", x -> {
            x = Work.spin(x, serial.size()); // line: serial
            begin.await();
            x = inParallel(x, parallel);
            end.await();
            Progress.visited();
            return x;
        });
        play.forever("helper", x -> {
            begin.await();
            x = inParallel(x, parallel);
            end.await();
            return x;
        });
    }

    private static double inParallel(double x, Load parallel) {
        return Work.spin(x, parallel.size()); // line: parallel
    }

    /** Two threads that have nothing to do with each other, each with a line of its own. */
    static void independent(Play play) {
        int rest = play.rounds(400);
        Load first = play.micros("first", 1600);
        Load second = play.micros("second", 1600);
        play.forever("first", x -> {
            x = Work.spin(x, first.size()); // line: first
            Progress.visited();
            return Work.spin(x, rest);
        });
        play.forever("second", x -> {
            x = Work.spin(x, second.size()); // line: second
            Progress.visited();
            return Work.spin(x, rest);
        });
    }

    /** Four equal threads, more than there are cores; half of what three of them do is one line, of the fourth another one. */
    static void oversubscribed(Play play) {
        int rest = play.rounds(1000);
        Load half = play.micros("half", 1000);
        Load mine = play.micros("mine", 1000);
        int others = play.threads(4) - 1;
        for (int i = 0; i < others; i++) {
            play.forever("other-" + i, x -> {
                x = Work.spin(x, half.size()); // line: half
                Progress.visited();
                return Work.spin(x, rest);
            });
        }
        play.forever("mine", x -> {
            x = Work.spin(x, mine.size()); // line: mine
            Progress.visited();
            return Work.spin(x, rest);
        });
    }

    /** As the barrier, but who comes first spins until the other one is there. */
    static void spinning(Play play) {
        Load work = play.micros("work", 1000);
        int less = play.rounds(500);
        Load look = play.micros("spin", 2);
        Meeting meeting = new Meeting();
        play.forever("worker", x -> {
            x = Work.spin(x, work.size()); // line: work
            meeting.done++;
            while (meeting.seen < meeting.done) {
                Thread.onSpinWait();
            }
            return x;
        });
        play.forever("spinner", x -> {
            x = Work.spin(x, less);
            while (meeting.done == meeting.seen) {
                x = Work.spin(x, look.size()); // line: spin
            }
            meeting.seen++;
            Progress.visited();
            return x;
        });
    }

    private static final class Meeting {
        volatile long done; // written by the worker only
        volatile long seen; // written by the spinner only
    }

    /** A parallel loop with one task that is twice as long as the others together on one thread. */
    static void forkJoin(Play play) {
        Load large = play.micros("large", 800);
        Load small = play.micros("small", 100);
        ForkJoinPool pool = new ForkJoinPool(play.threads(2));
        play.forever("main part", x -> {
            pool.submit(() -> round(large, small)).join();
            Progress.visited();
            return x;
        });
    }

    private static void round(Load large, Load small) {
        List<ForkJoinTask<?>> tasks = new ArrayList<>();
        // The newest one is run first by who made it, the oldest ones are stolen by others.
        for (int i = 0; i < 4; i++) {
            tasks.add(ForkJoinTask.adapt(() -> {
                Work.sink = Work.spin(1.0, small.size()); // line: small
            }).fork());
        }
        tasks.add(ForkJoinTask.adapt(() -> {
            Work.sink = Work.spin(1.0, large.size()); // line: large
        }).fork());
        for (int i = tasks.size() - 1; i >= 0; i--) {
            tasks.get(i).join();
        }
    }
}
