package headway.workloads;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Exchanger;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.LinkedTransferQueue;
import java.util.concurrent.Phaser;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/**
 * Every kind of blocking that java.util.concurrent and monitors have, each a known number of times. One line of JSON per kind.
 *
 * <p>Arguments: rounds of each (10).
 */
public final class JucZoo {
    private static final long NAP_NANOS = 2_000_000;

    private JucZoo() {}

    public static void main(String[] args) {
        int rounds = Work.argument(args, 0, 10);
        List<Station> all = new ArrayList<>();
        locks(all, rounds);
        gates(all, rounds);
        handOvers(all, rounds);
        plain(all, rounds);
        List<Report> reports = all.stream().map(Station::play).toList();
        Report.of("zoo").put("driver_java_id", Thread.currentThread().getId()).put("stations", reports).print();
        System.exit(0); // the common pool's workers may be parked
    }

    /** What no program here is interrupted in. */
    private static void run(Callable<?> action) {
        try {
            action.call();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static void locks(List<Station> all, int rounds) {
        ReentrantLock lock = new ReentrantLock();
        all.add(Station.held("ReentrantLock", rounds, lock::lock, () -> {
            lock.lock();
            lock.unlock();
        }, lock::unlock));
        ReentrantReadWriteLock readWrite = new ReentrantReadWriteLock();
        all.add(Station.held("ReentrantReadWriteLock", rounds, readWrite.writeLock()::lock, () -> {
            readWrite.readLock().lock();
            readWrite.readLock().unlock();
        }, readWrite.writeLock()::unlock));
        StampedLock stamped = new StampedLock();
        long[] stamp = new long[1];
        all.add(Station.held("StampedLock", rounds, () -> stamp[0] = stamped.writeLock(),
                () -> stamped.unlockRead(stamped.readLock()), () -> stamped.unlockWrite(stamp[0])));
        Condition condition = lock.newCondition();
        all.add(Station.released("Condition", rounds, () -> locked(lock, condition::awaitUninterruptibly),
                () -> locked(lock, condition::signal)));
        Object monitor = new Object();
        all.add(Station.released("Object.wait", rounds, () -> {
            synchronized (monitor) {
                run(() -> {
                    monitor.wait();
                    return null;
                });
            }
        }, () -> {
            synchronized (monitor) {
                monitor.notify();
            }
        }));
    }

    private static void locked(ReentrantLock lock, Runnable action) {
        lock.lock();
        try {
            action.run();
        } finally {
            lock.unlock();
        }
    }

    private static void gates(List<Station> all, int rounds) {
        Semaphore semaphore = new Semaphore(0);
        all.add(Station.released("Semaphore", rounds, semaphore::acquireUninterruptibly, semaphore::release));
        AtomicReference<CountDownLatch> latch = new AtomicReference<>();
        all.add(Station.held("CountDownLatch", rounds, () -> latch.set(new CountDownLatch(1)), () -> run(() -> {
            latch.get().await();
            return null;
        }), () -> latch.get().countDown()));
        CyclicBarrier barrier = new CyclicBarrier(2);
        all.add(Station.released("CyclicBarrier", rounds, () -> run(barrier::await), () -> run(barrier::await)));
        Phaser phaser = new Phaser(2);
        all.add(Station.released("Phaser", rounds, phaser::arriveAndAwaitAdvance, phaser::arrive));
        AtomicReference<CompletableFuture<Integer>> future = new AtomicReference<>();
        all.add(Station.held("CompletableFuture", rounds, () -> future.set(new CompletableFuture<>()),
                () -> future.get().join(), () -> future.get().complete(1)));
    }

    private static void handOvers(List<Station> all, int rounds) {
        Exchanger<Integer> exchanger = new Exchanger<>();
        all.add(Station.released("Exchanger", rounds, () -> run(() -> exchanger.exchange(1)),
                () -> run(() -> exchanger.exchange(2))));
        SynchronousQueue<Integer> synchronous = new SynchronousQueue<>();
        all.add(Station.released("SynchronousQueue", rounds, () -> run(synchronous::take), () -> put(synchronous::put)));
        LinkedTransferQueue<Integer> transfer = new LinkedTransferQueue<>();
        all.add(Station.released("LinkedTransferQueue", rounds, () -> run(transfer::take), () -> transfer.put(1)));
        ArrayBlockingQueue<Integer> array = new ArrayBlockingQueue<>(1);
        all.add(Station.released("ArrayBlockingQueue", rounds, () -> run(array::take), () -> put(array::put)));
        AtomicReference<CompletableFuture<Integer>> gate = new AtomicReference<>();
        ForkJoinPool pool = new ForkJoinPool(1);
        all.add(Station.held("ForkJoinTask", rounds, () -> gate.set(new CompletableFuture<>()),
                () -> pool.submit(() -> gate.get().join()).join(), () -> gate.get().complete(1)));
    }

    private interface Putting {
        void put(int value) throws InterruptedException;
    }

    private static void put(Putting queue) {
        run(() -> {
            queue.put(1);
            return null;
        });
    }

    private static void plain(List<Station> all, int rounds) {
        Object blocker = new Object();
        AtomicReference<Thread> parked = new AtomicReference<>();
        all.add(Station.released("park", rounds, () -> park(parked, null), () -> LockSupport.unpark(parked.get())));
        all.add(Station.released("park(blocker)", rounds, () -> park(parked, blocker),
                () -> LockSupport.unpark(parked.get())));
        all.add(Station.timed("parkNanos", rounds, () -> LockSupport.parkNanos(NAP_NANOS)));
        all.add(Station.timed("parkNanos(blocker)", rounds, () -> LockSupport.parkNanos(blocker, NAP_NANOS)));
        all.add(Station.timed("parkUntil(blocker)", rounds,
                () -> LockSupport.parkUntil(blocker, System.currentTimeMillis() + 2)));
        Object monitor = new Object();
        all.add(Station.timed("Object.wait(ms)", rounds, () -> {
            synchronized (monitor) {
                run(() -> {
                    monitor.wait(2);
                    return null;
                });
            }
        }));
    }

    private static void park(AtomicReference<Thread> parked, Object blocker) {
        parked.set(Thread.currentThread());
        if (blocker == null) {
            LockSupport.park();
        } else {
            LockSupport.park(blocker);
        }
    }
}
