import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.Pipe;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

/**
 * What threads are held up for while another one runs a line that is made faster, measured by themselves. Each line of standard
 * input asks for one round and is answered by three times in nanoseconds: how long the line ran, how long the thread in question
 * was held up itself, and how late it was woken. "woken KIND": it waits for the thread in the line. "waker KIND": it waits for a
 * third one, which slept meanwhile. "timed KIND": it waits for time. "begins": a third one, which slept meanwhile, starts
 * it. "settles KIND": it slept while the line ran, and then waits for a third one. "pays": it works while the line runs, and
 * some time longer. "releases": it slept while the line ran and gives up a lock that another one queues for; how late a third one has
 * it. "end".
 */
public final class Rules {
    private static final long LINE_NS = 30_000_000; // CPU time
    private static final long TIME_LIMIT_MS = 100; // a wait for time: the line has run meanwhile, or the round is repeated
    private static final ThreadMXBean CLOCKS = ManagementFactory.getThreadMXBean();
    private static final Thread BYSTANDER = daemon(() -> {
        while (true) {
            LockSupport.park();
        }
    });
    private static final Map<String, Supplier<Wait>> WAITS = new TreeMap<>(Map.of(
            "park", Parked::new,
            "monitor", Contended::new,
            "wait", Notified::new,
            "lock", Locked::new,
            "condition", Signalled::new,
            "join", Joined::new,
            "pipe", Piped::new));
    private static volatile double sink;

    private Rules() {}

    /** A checked exception here is a mistake in this program. */
    interface Action {
        void run() throws Exception;
    }

    private static Thread daemon(Action action) {
        Thread thread = new Thread(() -> {
            try {
                action.run();
            } catch (Exception unexpected) {
                unexpected.printStackTrace();
                System.exit(1);
            }
        });
        thread.setDaemon(true);
        return thread;
    }

    // --- ways to wait for a thread ---

    abstract static class Wait {
        volatile Thread waiter;
        volatile Thread waker;
        volatile boolean isOver;

        abstract void await() throws Exception;

        /** By the waker: `before` while the other one waits, then wakes it. */
        void wake(Action before) throws Exception {
            before.run();
            wake();
        }

        void wake() throws Exception {}

        boolean hasBegun() {
            Thread.State state = waiter.getState();
            return state == Thread.State.WAITING || state == Thread.State.BLOCKED;
        }
    }

    static final class Parked extends Wait {
        @Override
        void await() {
            while (!isOver) {
                LockSupport.park();
            }
        }

        @Override
        void wake() {
            isOver = true;
            LockSupport.unpark(waiter);
        }
    }

    static final class Contended extends Wait {
        private final Object monitor = new Object();
        private volatile boolean isHeld;

        @Override
        void await() {
            while (!isHeld) {
                Thread.onSpinWait();
            }
            synchronized (monitor) {
                isOver = true;
            }
        }

        @Override
        void wake(Action before) throws Exception {
            synchronized (monitor) {
                isHeld = true;
                before.run();
            }
        }
    }

    static final class Notified extends Wait {
        @Override
        synchronized void await() throws InterruptedException {
            while (!isOver) {
                wait();
            }
        }

        @Override
        synchronized void wake() {
            isOver = true;
            notifyAll();
        }
    }

    static final class Locked extends Wait {
        private final ReentrantLock lock = new ReentrantLock();
        private volatile boolean isHeld;

        @Override
        void await() {
            while (!isHeld) {
                Thread.onSpinWait();
            }
            lock.lock();
            lock.unlock();
        }

        @Override
        void wake(Action before) throws Exception {
            lock.lock();
            isHeld = true;
            before.run();
            lock.unlock();
        }
    }

    static final class Signalled extends Wait {
        private final ReentrantLock lock = new ReentrantLock();
        private final Condition condition = lock.newCondition();

        @Override
        void await() throws InterruptedException {
            lock.lock();
            while (!isOver) {
                condition.await();
            }
            lock.unlock();
        }

        @Override
        void wake() {
            lock.lock();
            isOver = true;
            condition.signal();
            lock.unlock();
        }
    }

    static final class Joined extends Wait {
        @Override
        void await() throws InterruptedException {
            waker.join();
        }
    }

    static final class Piped extends Wait {
        private final Pipe pipe;
        private volatile boolean reads;

        Piped() {
            try {
                pipe = Pipe.open();
            } catch (IOException unexpected) {
                throw new AssertionError(unexpected);
            }
        }

        @Override
        void await() throws IOException {
            reads = true;
            pipe.source().read(ByteBuffer.allocate(1));
            pipe.source().close();
        }

        @Override
        void wake() throws IOException {
            pipe.sink().write(ByteBuffer.allocate(1));
            pipe.sink().close();
        }

        @Override
        boolean hasBegun() {
            return reads;
        }
    }

    // --- rounds ---

    /** How long the line ran; how long the thread was held up; how late it went on. */
    record Round(long lineNs, long heldUpNs, long lateNs) {
        @Override
        public String toString() {
            return lineNs + " " + heldUpNs + " " + lateNs;
        }
    }

    /** What one round is made of; threads are new, so that none has credit from an earlier one. */
    static final class Stage {
        volatile long lineNs;
        volatile long heldUpNs;
        volatile long wakingNs;
        volatile long wentOnNs;
        volatile boolean isAsleep;

        Round round() {
            return new Round(lineNs, heldUpNs, wentOnNs - wakingNs);
        }

        void runLine() {
            long beginNs = CLOCKS.getCurrentThreadCpuTime();
            long ranNs;
            do {
                line(); // calls
                ranNs = CLOCKS.getCurrentThreadCpuTime() - beginNs;
            } while (ranNs < LINE_NS);
            lineNs = ranNs;
        }
    }

    static void line() {
        double x = 1;
        for (int i = 0; i < 50_000; i++) x = x * 1.0000001 + 1e-9; // faster
        sink = x;
    }

    /** Who wakes a thread pays first: so this takes as long as the calling thread owes. */
    static long payNs() {
        long beginNs = System.nanoTime();
        LockSupport.unpark(BYSTANDER); // pays
        return System.nanoTime() - beginNs;
    }

    /** Asleep for data from outside, so that what it owes then is not paid at once, as it is after a sleep or a timed wait. */
    static void sleepUntilItRan(Stage stage) throws IOException {
        try (ServerSocket called = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            called.setSoTimeout((int) TIME_LIMIT_MS);
            stage.isAsleep = true;
            while (stage.lineNs == 0) {
                try {
                    called.accept();
                } catch (SocketTimeoutException nobody) {
                    continue;
                }
            }
        }
    }

    /** Else the other one would be awake for a part of the line, and pay at samples or be excused for want of a core. */
    static void runLineBesideSleeper(Stage stage) throws InterruptedException {
        sleepUntil(() -> stage.isAsleep);
        Thread.sleep(2); // whoever says so is about to
        stage.runLine();
    }

    static void untilBegun(Wait wait) throws InterruptedException {
        while (!wait.hasBegun()) {
            Thread.sleep(1);
        }
    }

    static Thread waiting(Wait wait, Stage stage) {
        return daemon(() -> {
            payNs();
            wait.await();
            stage.wentOnNs = System.nanoTime();
            stage.heldUpNs = payNs();
        });
    }

    /** The thread in the line wakes the other one, or a third one does that slept meanwhile. */
    static Round woken(Wait wait, boolean bySleeper) throws InterruptedException {
        Stage stage = new Stage();
        wait.waiter = waiting(wait, stage);
        Action line = () -> {
            untilBegun(wait);
            stage.runLine();
            stage.wakingNs = System.nanoTime();
        };
        Action sleep = () -> {
            payNs();
            sleepUntilItRan(stage);
            stage.wakingNs = System.nanoTime();
        };
        wait.waker = daemon(() -> wait.wake(bySleeper ? sleep : line));
        wait.waker.start();
        wait.waiter.start();
        if (bySleeper) {
            Thread runner = daemon(() -> {
                untilBegun(wait);
                runLineBesideSleeper(stage);
            });
            runner.start();
            runner.join();
        }
        wait.waker.join();
        wait.waiter.join();
        return stage.round();
    }

    /** The waiting thread's time is over, or it has data from outside: how much later than that it goes on. */
    static Round timed(Action wait) throws InterruptedException {
        while (true) {
            Stage stage = new Stage();
            Thread runner = daemon(stage::runLine);
            Thread waiter = daemon(() -> {
                payNs();
                runner.start();
                long beginNs = System.nanoTime();
                wait.run();
                boolean hasRun = stage.lineNs != 0;
                payNs();
                stage.heldUpNs = hasRun ? System.nanoTime() - beginNs - TimeUnit.MILLISECONDS.toNanos(TIME_LIMIT_MS) : -1;
            });
            waiter.start();
            waiter.join();
            runner.join();
            if (stage.heldUpNs >= 0) {
                return stage.round();
            }
        }
    }

    static Action timedWait(String kind) {
        Object monitor = new Object();
        ReentrantLock lock = new ReentrantLock();
        Condition condition = lock.newCondition();
        return switch (kind) {
            case "sleep" -> () -> Thread.sleep(TIME_LIMIT_MS);
            case "park" -> () -> LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(TIME_LIMIT_MS));
            case "wait" -> () -> {
                synchronized (monitor) {
                    monitor.wait(TIME_LIMIT_MS);
                }
            };
            case "condition" -> () -> {
                lock.lock();
                condition.await(TIME_LIMIT_MS, TimeUnit.MILLISECONDS);
                lock.unlock();
            };
            default -> throw new IllegalArgumentException(kind);
        };
    }

    /** "Late": from the call of start() to the first of what the new thread does. */
    static Round begins() throws InterruptedException {
        Stage stage = new Stage();
        Thread runner = daemon(() -> runLineBesideSleeper(stage));
        Thread child = daemon(() -> {
            stage.wentOnNs = System.nanoTime();
            stage.heldUpNs = payNs();
        });
        Thread parent = daemon(() -> {
            payNs();
            runner.start();
            sleepUntilItRan(stage);
            stage.wakingNs = System.nanoTime();
            child.start();
            child.join();
        });
        parent.start();
        parent.join();
        return stage.round();
    }

    static void otherLine() {
        double x = 1;
        for (int i = 0; i < 50_000; i++) x = x * 1.0000001 + 1e-9;
        sink = x;
    }

    static final int UNITS_AFTER = 100; // more than a dozen samples

    /** A thread that runs nothing at which it could pay, but at its samples, while another one is in the line and for a while after. */
    static Round pays() throws InterruptedException {
        Stage stage = new Stage();
        Thread runner = daemon(stage::runLine);
        Thread worker = daemon(() -> {
            payNs();
            runner.start();
            while (runner.isAlive()) {
                otherLine();
            }
            for (int i = 0; i < UNITS_AFTER; i++) {
                otherLine();
            }
            stage.heldUpNs = payNs();
        });
        worker.start();
        worker.join();
        return stage.round();
    }

    /** It slept while the line ran, and then waits for a thread. */
    static Round settles(Wait wait) throws InterruptedException {
        Stage stage = new Stage();
        Thread runner = daemon(() -> runLineBesideSleeper(stage));
        wait.waiter = daemon(() -> {
            payNs();
            runner.start();
            sleepUntilItRan(stage);
            wait.await();
            stage.wentOnNs = System.nanoTime();
            stage.heldUpNs = payNs();
        });
        wait.waker = daemon(() -> wait.wake(() -> {
            untilBegun(wait); // it pays now
            Thread.sleep(TIME_LIMIT_MS);
            payNs();
            stage.wakingNs = System.nanoTime();
        }));
        wait.waker.start();
        wait.waiter.start();
        wait.waker.join();
        wait.waiter.join();
        return stage.round();
    }

    static void sleepUntil(BooleanSupplier isSo) throws InterruptedException {
        while (!isSo.getAsBoolean()) {
            Thread.sleep(1);
        }
    }

    /** "Late": from the release of a lock, for which one queues, by a thread that slept while the line ran, until another one has it. */
    static Round releases() throws InterruptedException {
        Stage stage = new Stage();
        ReentrantLock lock = new ReentrantLock();
        Thread runner = daemon(() -> runLineBesideSleeper(stage));
        Thread queuing = daemon(() -> {
            lock.lock();
            lock.unlock();
        });
        Thread holder = daemon(() -> {
            payNs();
            lock.lock();
            queuing.start();
            sleepUntil(lock::hasQueuedThreads);
            runner.start();
            sleepUntilItRan(stage);
            stage.wakingNs = System.nanoTime();
            lock.unlock();
        });
        Thread trying = daemon(() -> {
            sleepUntil(() -> stage.wakingNs != 0);
            sleepUntil(lock::tryLock);
            stage.wentOnNs = System.nanoTime();
            lock.unlock();
        });
        for (Thread thread : List.of(holder, trying)) {
            thread.start();
        }
        for (Thread thread : List.of(holder, trying, queuing, runner)) {
            thread.join();
        }
        return stage.round();
    }

    static Object round(String request, Scanner in) throws Exception {
        return switch (request) {
            case "woken" -> woken(WAITS.get(in.next()).get(), false);
            case "waker" -> woken(WAITS.get(in.next()).get(), true);
            case "timed" -> timed(timedWait(in.next()));
            case "begins" -> begins();
            case "pays" -> pays();
            case "releases" -> releases();
            case "settles" -> settles(WAITS.get(in.next()).get());
            default -> throw new IllegalArgumentException(request);
        };
    }

    public static void main(String[] args) throws Exception {
        BYSTANDER.start();
        Scanner in = new Scanner(System.in);
        System.out.println("ready");
        for (String word = in.next(); !word.equals("end"); word = in.next()) {
            System.out.println(round(word, in));
        }
    }
}
