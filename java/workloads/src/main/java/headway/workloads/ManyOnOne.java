package headway.workloads;

import java.lang.reflect.Method;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Many threads that all block on one object at the same time, before any of them may go on.
 *
 * <p>Arguments: virtual or platform (platform); how they block: juc, monitor, wait or park (juc); how many (64).
 */
public final class ManyOnOne {
    /** What the threads lock, wait on or park on. */
    static final class Gate {}

    private static final Gate GATE = new Gate();
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static final AtomicLong CALLS = new AtomicLong();
    private static volatile boolean open;

    private ManyOnOne() {}

    public static void main(String[] args) throws ReflectiveOperationException {
        String kind = Work.argument(args, 1, "juc");
        int count = Work.argument(args, 2, 64);
        Runnable task = task(kind);
        Thread[] threads = new Thread[count];
        LOCK.lock();
        if (kind.equals("monitor")) {
            synchronized (GATE) {
                start(threads, args[0].equals("virtual"), task);
                awaitAll(threads, Thread.State.BLOCKED);
            }
        } else {
            start(threads, args[0].equals("virtual"), task);
            awaitAll(threads, Thread.State.WAITING);
        }
        open = true;
        LOCK.unlock();
        letGo(kind, threads);
        for (Thread thread : threads) {
            Work.join(thread);
        }
        Object blocker = kind.equals("juc") ? Blockers.of(LOCK) : GATE;
        Report.of("many").put("threads", count).put("calls", CALLS.get()).put("hash", System.identityHashCode(blocker))
                .put("class", blocker.getClass().getName()).print();
    }

    private static Runnable task(String kind) {
        return switch (kind) {
            case "juc" -> () -> {
                CALLS.incrementAndGet();
                LOCK.lock();
                LOCK.unlock();
            };
            case "monitor" -> () -> {
                CALLS.incrementAndGet();
                synchronized (GATE) {
                    Work.sink = 1;
                }
            };
            case "wait" -> ManyOnOne::waitForGate;
            case "park" -> () -> {
                while (!open) {
                    CALLS.incrementAndGet();
                    LockSupport.park(GATE);
                }
            };
            default -> throw new IllegalArgumentException(kind);
        };
    }

    private static void waitForGate() {
        synchronized (GATE) {
            while (!open) {
                CALLS.incrementAndGet();
                try {
                    GATE.wait();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        }
    }

    /** Virtual threads by reflection: this jar is built for JDK 17. */
    private static void start(Thread[] threads, boolean virtual, Runnable task) throws ReflectiveOperationException {
        Method startVirtual = virtual ? Thread.class.getMethod("startVirtualThread", Runnable.class) : null;
        for (int i = 0; i < threads.length; i++) {
            if (virtual) {
                threads[i] = (Thread) startVirtual.invoke(null, task);
            } else {
                threads[i] = new Thread(task, "one-of-many-" + i);
                threads[i].start();
            }
        }
    }

    private static void awaitAll(Thread[] threads, Thread.State state) {
        for (Thread thread : threads) {
            Work.await(() -> thread.getState() == state);
        }
    }

    private static void letGo(String kind, Thread[] threads) {
        if (kind.equals("wait")) {
            synchronized (GATE) {
                GATE.notifyAll();
            }
        } else if (kind.equals("park")) {
            for (Thread thread : threads) {
                LockSupport.unpark(thread);
            }
        }
    }
}
