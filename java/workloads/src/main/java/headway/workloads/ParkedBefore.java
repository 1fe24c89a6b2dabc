package headway.workloads;

import java.io.IOException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads that are parked before anybody looks, and go on in every way when a line comes on standard input: with a lock
 * that main holds, by a latch (with a time limit or not, of an executor or not), woken without a blocker, and interrupted, after
 * which they only sleep. Others sleep throughout. Ends when standard input does. Virtual threads are
 * reached by reflection, as this jar is built for JDK 17; there it says that there are none.
 *
 * <p>Arguments: threads of each kind (4); more that wait for the latch (0); 1: platform threads (0).
 */
public final class ParkedBefore {
    private static final String[] KINDS = {"lock", "latch", "pooled", "timed", "alone", "interrupted", "sleeping"};

    private static final Set<Thread.State> WAITS = EnumSet.of(Thread.State.WAITING, Thread.State.TIMED_WAITING);

    static final class Interrupted {}

    private final int each;
    private final AtomicReferenceArray<Thread> threads;
    private final AtomicLongArray wentOnNs;
    private final ReentrantLock lock = new ReentrantLock();
    private final CountDownLatch latch = new CountDownLatch(1);
    private final Interrupted interrupted = new Interrupted();

    private ParkedBefore(int each, int more) {
        this.each = each;
        threads = new AtomicReferenceArray<>(KINDS.length * each + more);
        wentOnNs = new AtomicLongArray(threads.length());
    }

    public static void main(String[] args) throws ReflectiveOperationException, IOException {
        boolean isPlatform = Work.argument(args, 2, 0) == 1;
        if (!isPlatform && Runtime.version().feature() < 21) {
            Report.of("parked_before").put("supported", false).print();
            return;
        }
        ParkedBefore program = new ParkedBefore(Work.argument(args, 0, 4), Work.argument(args, 1, 0));
        program.lock.lock();
        program.start(isPlatform);
        Work.await(program::areAllParked);
        program.report("parked").print();
        while (System.in.read() != '\n') { }
        long goNs = System.nanoTime();
        program.goOn();
        program.report("done").put("go_ns", goNs).print();
        while (System.in.read() >= 0) { }
    }

    private void start(boolean isPlatform) throws ReflectiveOperationException {
        Method start = isPlatform ? null : Thread.class.getMethod("startVirtualThread", Runnable.class);
        ExecutorService pool = isPlatform
                ? Executors.newCachedThreadPool(task -> daemon(task))
                : (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        for (int i = 0; i < threads.length(); i++) {
            int me = i;
            String kind = kind(i);
            Runnable task = () -> {
                threads.set(me, Thread.currentThread());
                park(kind);
                wentOnNs.set(me, System.nanoTime());
                while (kind.equals("interrupted")) {  // no park of its own ends what is known of the first
                    Work.sleep(10);
                }
            };
            if (kind.equals("pooled")) {
                pool.execute(task);
            } else if (isPlatform) {
                daemon(task).start();
            } else {
                start.invoke(null, task);
            }
        }
    }

    private static Thread daemon(Runnable task) {
        Thread thread = new Thread(task);
        thread.setDaemon(true);
        return thread;
    }

    private boolean areAllParked() {
        for (int i = 0; i < threads.length(); i++) {
            Thread thread = threads.get(i);
            boolean isAlone = kind(i).equals("alone") || kind(i).equals("sleeping");
            if (thread == null || !(isAlone ? WAITS.contains(thread.getState()) : Blockers.isBlocked(thread))) {
                return false;
            }
        }
        return true;
    }

    private boolean areAllGoneOn() {
        for (int i = 0; i < threads.length(); i++) {
            if (wentOnNs.get(i) == 0 && !kind(i).equals("sleeping")) {
                return false;
            }
        }
        return true;
    }

    private String kind(int thread) {
        return thread < KINDS.length * each ? KINDS[thread / each] : "latch";
    }

    private void park(String kind) {
        switch (kind) {
            case "lock" -> {
                lock.lock();
                lock.unlock();
            }
            case "latch", "pooled" -> await(false);
            case "timed" -> await(true);
            case "alone" -> LockSupport.park();
            case "interrupted" -> {
                LockSupport.park(interrupted);
                Thread.interrupted();
            }
            case "sleeping" -> Work.sleep(86_400_000);
            default -> throw new IllegalArgumentException(kind);
        }
    }

    private void await(boolean timed) {
        try {
            if (!timed) {
                latch.await();
            } else if (!latch.await(1, TimeUnit.DAYS)) {
                throw new IllegalStateException("a day");
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private void goOn() {
        lock.unlock();
        latch.countDown();
        for (int i = 0; i < threads.length(); i++) {
            switch (kind(i)) {
                case "alone" -> LockSupport.unpark(threads.get(i));
                case "interrupted" -> threads.get(i).interrupt();
                default -> { }
            }
        }
        Work.await(this::areAllGoneOn);
    }

    private Report report(String event) {
        long[] ids = new long[threads.length()];
        Arrays.setAll(ids, i -> threads.get(i).getId());
        long[] times = new long[threads.length()];
        Arrays.setAll(times, wentOnNs::get);
        return Report.of(event).put("supported", true).put("kinds", String.join(" ", KINDS)).put("each", each)
                .put("java_ids", ids).put("went_on_ns", times).put("main_id", Thread.currentThread().getId())
                .put("lock_hash", System.identityHashCode(Blockers.of(lock)))
                .put("interrupted_hash", System.identityHashCode(interrupted));
    }
}
