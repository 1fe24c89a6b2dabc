package headway.workloads.causal;

import headway.workloads.Work;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Threads that meet at locks. */
final class Locks {
    private Locks() {}

    /** Two threads take turns with a lock held: what each does there counts alike, and never at the same time. */
    static void alternating(Play play) {
        Load ping = play.micros("ping", 500);
        Load pong = play.micros("pong", 500);
        ReentrantLock lock = new ReentrantLock();
        Condition turned = lock.newCondition();
        boolean[] isPong = {false};
        play.forever("ping", x -> {
            lock.lock();
            try {
                while (isPong[0]) {
                    turned.await();
                }
                x = Work.spin(x, ping.size()); // line: ping
                isPong[0] = true;
                turned.signal();
            } finally {
                lock.unlock();
            }
            return x;
        });
        play.forever("pong", x -> {
            lock.lock();
            try {
                while (!isPong[0]) {
                    turned.await();
                }
                x = Work.spin(x, pong.size()); // line: pong
                isPong[0] = false;
                Progress.visited();
                turned.signal();
            } finally {
                lock.unlock();
            }
            return x;
        });
    }

    /** The same with a monitor. */
    static void alternatingMonitor(Play play) {
        Load ping = play.micros("monitor ping", 500);
        Load pong = play.micros("monitor pong", 500);
        Turns turns = new Turns();
        play.forever("ping", x -> {
            synchronized (turns) {
                while (turns.isPong) {
                    turns.wait();
                }
                x = Work.spin(x, ping.size()); // line: monitor ping
                turns.isPong = true;
                turns.notify();
            }
            return x;
        });
        play.forever("pong", x -> {
            synchronized (turns) {
                while (!turns.isPong) {
                    turns.wait();
                }
                x = Work.spin(x, pong.size()); // line: monitor pong
                turns.isPong = false;
                Progress.visited();
                turns.notify();
            }
            return x;
        });
    }

    private static final class Turns {
        boolean isPong;
    }

    /** Threads on one lock, which they want more often than one can have it: what is done with it counts. */
    static void contended(Play play) {
        Load inside = play.micros("inside", 800);
        Load outside = play.micros("outside", 400);
        ReentrantLock lock = new ReentrantLock();
        for (int i = 0; i < play.threads(8); i++) {
            play.forever("worker-" + i, x -> {
                lock.lock();
                try {
                    x = Work.spin(x, inside.size()); // line: inside
                } finally {
                    lock.unlock();
                }
                Progress.visited();
                return Work.spin(x, outside.size()); // line: outside
            });
        }
    }

    /** The same with a monitor. */
    static void contendedMonitor(Play play) {
        Load inside = play.micros("monitor inside", 800);
        Load outside = play.micros("monitor outside", 400);
        Wanted wanted = new Wanted();
        for (int i = 0; i < play.threads(8); i++) {
            play.forever("worker-" + i, x -> {
                synchronized (wanted) {
                    x = Work.spin(x, inside.size()); // line: monitor inside
                }
                Progress.visited();
                return Work.spin(x, outside.size()); // line: monitor outside
            });
        }
    }

    /** The lock of {@link #contendedMonitor}, a class of its own so that it can be named. */
    private static final class Wanted {}

    /** Who looks after things holds the lock that who makes progress needs: the more often it looks, the slower the program. */
    static void slower(Play play) {
        Load pause = play.micros("pause", 3000);
        int holds = play.rounds(1000);
        Load inside = play.micros("needed", 300);
        int outside = play.rounds(200);
        ReentrantLock lock = new ReentrantLock(true);
        play.forever("looks after", x -> {
            x = Work.spin(x, pause.size()); // line: pause
            lock.lock();
            try {
                return Work.spin(x, holds);
            } finally {
                lock.unlock();
            }
        });
        play.forever("works", x -> {
            lock.lock();
            try {
                x = Work.spin(x, inside.size()); // line: needed
            } finally {
                lock.unlock();
            }
            Progress.visited();
            return Work.spin(x, outside);
        });
    }
}
