package headway.workloads;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.AbstractQueuedSynchronizer;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Does what its standard input asks, a line at a time, and says after each that it is done.
 *
 * <ul>
 *   <li>{@code park N}: parks N times, each for a moment, on an object made for it
 *   <li>{@code hold N}: N times another thread acquires a lock that it had to park for
 *   <li>{@code nest N}: one thread holds N locks at once that it had to park for, and that another thread waits for
 *   <li>{@code grip}: from now on a thread holds a lock that it had to park for, and that another one waits for
 *   <li>{@code let-go}: it releases it; is the lock collected when nobody in the program knows it any more?
 *   <li>{@code barge N}: N times a thread gets and releases a lock that another one waits for all the while, unwoken
 *   <li>{@code signal N}: N times a thread that waited for a lock once, and then only for its condition, is signalled
 *   <li>{@code stay NAME}: a thread of that name parks for ever
 *   <li>{@code redefine}: has {@link OtherAgent} redefine LockSupport
 * </ul>
 */
public final class OnRequest {
    /** Whoever knows the synchroniser keeps it alive; of a ReentrantLock that is another object than the lock. */
    private static final class Mutex extends AbstractQueuedSynchronizer {
        private static final long serialVersionUID = 1L;
        private transient volatile boolean isShut;

        @Override
        protected boolean tryAcquire(int ignored) {
            boolean isMine = (ignored != 0 || !isShut) && compareAndSetState(0, 1);
            if (isMine) {
                setExclusiveOwnerThread(Thread.currentThread());
            }
            return isMine;
        }

        @Override
        protected boolean tryRelease(int ignored) {
            setExclusiveOwnerThread(null);
            setState(0);
            return true;
        }
    }

    private static final CountDownLatch LET_GO = new CountDownLatch(1);
    private static final List<Thread> GRIPPERS = new ArrayList<>();
    private static WeakReference<Mutex> gripped;

    private OnRequest() {}

    /** What is parked on: a class of its own, one object for each request. */
    private static final class Place {}

    public static void main(String[] args) throws IOException {
        Report.of("ready").put("pid", (int) ProcessHandle.current().pid()).print();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "park" -> park(Integer.parseInt(words[1]));
                case "hold" -> hold(Integer.parseInt(words[1]));
                case "nest" -> nest(Integer.parseInt(words[1]));
                case "grip" -> grip();
                case "let-go" -> letGo();
                case "barge" -> barge(Integer.parseInt(words[1]));
                case "signal" -> signal(Integer.parseInt(words[1]));
                case "stay" -> stay(words[1]);
                case "redefine" -> {
                    OtherAgent.redefine();
                    Report.of("redefined").put("transformed", OtherAgent.transformed()).print();
                }
                default -> throw new IllegalArgumentException(line);
            }
        }
        Report.of("done").put("transformed", OtherAgent.transformed()).print();
    }

    private static void park(int times) {
        Place place = new Place();
        for (int i = 0; i < times; i++) {
            LockSupport.parkNanos(place, 1);
        }
        Report.of("parked").put("hash", System.identityHashCode(place)).put("times", times).print();
    }

    private static void hold(int times) {
        ReentrantLock lock = new ReentrantLock();
        for (int i = 0; i < times; i++) {
            lock.lock();
            Thread other = waiting(() -> {
                lock.lock();
                lock.unlock();
            });
            lock.unlock();
            Work.join(other);
        }
        Report.of("held").put("times", times).put("now_ns", System.nanoTime()).print();
    }

    private static void nest(int depth) {
        List<ReentrantLock> locks = new ArrayList<>();
        List<Thread> others = new ArrayList<>();
        for (int i = 0; i < depth; i++) {
            locks.add(new ReentrantLock());
        }
        Thread nesting = new Thread(() -> {
            locks.forEach(ReentrantLock::lock);
            locks.forEach(ReentrantLock::unlock);
        });
        locks.forEach(ReentrantLock::lock);
        nesting.start();
        for (ReentrantLock lock : locks) {
            while (!lock.hasQueuedThread(nesting) || nesting.getState() != Thread.State.WAITING) {
                Thread.onSpinWait();
            }
            others.add(waiting(() -> {
                lock.lock();
                lock.unlock();
            }));
            lock.unlock();
        }
        Work.join(nesting);
        others.forEach(Work::join);
        Report.of("nested").put("depth", depth).print();
    }

    private static void grip() {
        Mutex lock = new Mutex();
        gripped = new WeakReference<>(lock);
        CountDownLatch gripping = new CountDownLatch(1);
        lock.acquire(1);
        Thread holder = waiting(() -> {
            lock.acquire(1);
            gripping.countDown();
            Work.await(() -> LET_GO.getCount() == 0);
            lock.release(1);
        });
        Thread next = waiting(() -> {
            lock.acquire(1);
            lock.release(1);
        });
        GRIPPERS.addAll(List.of(holder, next));
        lock.release(1);
        Work.await(() -> gripping.getCount() == 0);
        Report.of("grips").print();
    }

    private static void barge(int times) {
        Mutex lock = new Mutex();
        lock.isShut = true;
        Thread other = waiting(() -> {
            lock.acquire(0); // not while it is shut
            lock.release(0);
        });
        for (int i = 0; i < times; i++) {
            lock.acquire(1);
            lock.tryRelease(1);
        }
        lock.isShut = false;
        lock.acquire(1);
        lock.release(1);
        Work.join(other);
        Report.of("barged").put("times", times).print();
    }

    private static void signal(int times) {
        ReentrantLock lock = new ReentrantLock();
        Condition condition = lock.newCondition();
        AtomicInteger awaited = new AtomicInteger(-1);
        lock.lock();
        Thread other = waiting(() -> {
            lock.lock();
            awaited.incrementAndGet();
            for (int i = 0; i < times; i++) {
                condition.awaitUninterruptibly();
                awaited.incrementAndGet();
            }
            lock.unlock();
        });
        lock.unlock();
        for (int i = 0; i < times; i++) {
            while (awaited.get() < i || other.getState() != Thread.State.WAITING) {
                Thread.onSpinWait();
            }
            lock.lock();
            condition.signal();
            lock.unlock();
        }
        Work.join(other);
        Report.of("signalled").put("times", times).print();
    }

    private static void letGo() {
        LET_GO.countDown();
        GRIPPERS.forEach(Work::join);
        GRIPPERS.clear();
        for (int i = 0; i < 20 && gripped.get() != null; i++) {
            System.gc();
        }
        Report.of("let-go").put("collected", gripped.get() == null ? 1 : 0).print();
    }

    /** Starts a thread and returns it once it is parked. */
    private static Thread waiting(Runnable task) {
        Thread thread = new Thread(task);
        thread.start();
        while (thread.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        return thread;
    }

    private static void stay(String name) {
        Place place = new Place();
        Thread thread = new Thread(() -> {
            while (true) {
                LockSupport.park(place);
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
        while (LockSupport.getBlocker(thread) != place || thread.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        List<String> frames = Arrays.stream(thread.getStackTrace()).map(StackTraceElement::getClassName).toList();
        Report.of("stays").put("frames", frames.toString()).print();
    }
}
