import java.util.LinkedList;
import java.util.List;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.*;
import java.util.concurrent.locks.*;

/**
 * Prints the stack of a thread in each kind of waiting, as `== RULE | kind | class of the object | timed`, then the frames.
 * jdk17.txt and jdk25.txt are what it printed on those; RULE is what headway should say, decided here by hand.
 */
public class Stacks {
    interface Action {
        void run() throws Exception;
    }

    static void thread(String name, Action action) {
        Thread thread =
                new Thread(
                        () -> {
                            try {
                                action.run();
                            } catch (Exception e) {
                                throw new RuntimeException(e);
                            }
                        },
                        name);
        thread.setDaemon(true);
        thread.start();
    }

    static class Connections {
        final BlockingQueue<Object> idle = new LinkedBlockingQueue<>();

        Object borrow() throws InterruptedException {
            return idle.take();
        }
    }

    static class Handler {
        final BlockingQueue<Object> replies = new LinkedBlockingQueue<>();

        void handle() throws InterruptedException {
            parse();
        }

        void parse() throws InterruptedException {
            ask();
        }

        void ask() throws InterruptedException {
            replies.take();
        }
    }

    static class Mailbox {
        final LinkedList<Object> letters = new LinkedList<>();

        Object take() throws InterruptedException {
            synchronized (letters) {
                while (letters.isEmpty()) {
                    letters.wait();
                }
                return letters.removeFirst();
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        locks();
        results();
        queues();
        pools();
        new Timer("timer", true).schedule(task(), 1_000_000);
        thread("timed-park", () -> LockSupport.parkNanos(1_000_000_000_000L));
        thread("own-park", LockSupport::park);
        thread("own-park.2", () -> LockSupport.park("x"));
        Object object = new Object();
        thread("condition.wait", () -> { synchronized (object) { object.wait(); } });
        Mailbox mailbox = new Mailbox();
        thread("worker", mailbox::take);
        synchronized (Stacks.class) {
            thread("monitor", () -> { synchronized (Stacks.class) { object.hashCode(); } });
            Thread.sleep(2500);
            Thread.getAllStackTraces().forEach(Stacks::print);
        }
        System.exit(0);
    }

    static TimerTask task() {
        return new TimerTask() {
            @Override
            public void run() {}
        };
    }

    static void locks() {
        ReentrantLock lock = new ReentrantLock();
        Condition condition = lock.newCondition();
        thread("condition.await", () -> { lock.lock(); condition.await(); });
        thread("condition.nanos", () -> { lock.lock(); condition.awaitNanos(1_000_000_000_000L); });
        ReentrantLock held = new ReentrantLock();
        held.lock();
        thread("lock", held::lock);
        thread("lock.try", () -> held.tryLock(1000, TimeUnit.SECONDS));
        thread("semaphore", () -> new Semaphore(0).acquire());
        StampedLock stamped = new StampedLock();
        stamped.writeLock();
        thread("lock.stampedRead", stamped::readLock);
        thread("lock.stampedWrite", stamped::writeLock);
        ReentrantReadWriteLock both = new ReentrantReadWriteLock();
        both.writeLock().lock();
        thread("lock.read", () -> both.readLock().lock());
        thread("lock.write", () -> both.writeLock().lock());
        thread("barrier.cyclic", () -> new CyclicBarrier(2).await());
        thread("barrier.phaser", () -> new Phaser(2).arriveAndAwaitAdvance());
        thread("barrier.exchanger", () -> new Exchanger<>().exchange(1));
    }

    static void results() throws Exception {
        thread("latch", () -> new CountDownLatch(1).await());
        thread("result.future", () -> new FutureTask<>(() -> 1).get());
        thread("result.get", () -> new CompletableFuture<>().get());
        thread("result.join", () -> new CompletableFuture<>().join());
        thread("result.thread", () -> Thread.currentThread().join());
        thread("result.process", () -> new ProcessBuilder("sleep", "100").start().waitFor());
        ForkJoinPool pool = new ForkJoinPool(2);
        ForkJoinTask<Object> task = ForkJoinTask.adapt(() -> { Thread.sleep(10_000_000); return 1; });
        pool.submit(task);
        thread("result.task", task::join);
        ExecutorService executor = Executors.newFixedThreadPool(1, named("pool-worker.busy"));
        thread("result.all", () -> executor.invokeAll(List.of(() -> { Thread.sleep(10_000_000); return 1; })));
        thread("result.termination", () -> executor.awaitTermination(1000, TimeUnit.SECONDS));
        thread("result.completion", () -> new ExecutorCompletionService<>(executor).take());
    }

    static void queues() {
        thread("queue-consumer.take", () -> new LinkedBlockingQueue<>().take());
        thread("queue-consumer.poll", () -> new LinkedBlockingQueue<>().poll(1000, TimeUnit.SECONDS));
        thread("queue-consumer.priority", () -> new PriorityBlockingQueue<>().take());
        thread("queue-consumer.deque", () -> new LinkedBlockingDeque<>().takeFirst());
        thread("queue-consumer.delay", () -> new DelayQueue<>().take());
        thread("queue-consumer.handover", () -> new SynchronousQueue<>().take());
        thread("queue-consumer.fair", () -> new SynchronousQueue<>(true).take());
        thread("queue-consumer.transfer", () -> new LinkedTransferQueue<>().take());
        BlockingQueue<Object> full = new ArrayBlockingQueue<>(1);
        full.add(1);
        thread("queue-full.put", () -> full.put(2));
        thread("queue-full.handover", () -> new SynchronousQueue<>().put(1));
        thread("queue-full.transfer", () -> new LinkedTransferQueue<>().transfer(1));
        thread("resource-pool", () -> new Connections().borrow());
        thread("queue-in-a-call", () -> new Handler().handle());
    }

    static void pools() throws Exception {
        Executors.newFixedThreadPool(1, named("pool-worker.fixed")).submit(() -> 1).get();
        Executors.newCachedThreadPool(named("pool-worker.cached")).submit(() -> 1).get();
        Executors.newScheduledThreadPool(1, named("pool-worker.scheduled")).submit(() -> 1).get();
        ScheduledExecutorService later = Executors.newScheduledThreadPool(1, named("scheduled-delay"));
        later.schedule(() -> 1, 1000, TimeUnit.SECONDS);
        ForkJoinPool pool =
                new ForkJoinPool(
                        1,
                        of -> {
                            ForkJoinWorkerThread thread =
                                    ForkJoinPool.defaultForkJoinWorkerThreadFactory.newThread(of);
                            thread.setName("fork-join-worker");
                            return thread;
                        },
                        null,
                        false);
        pool.submit(() -> 1).get();
    }

    static ThreadFactory named(String name) {
        return action -> {
            Thread thread = new Thread(action, name);
            thread.setDaemon(true);
            return thread;
        };
    }

    static void print(Thread thread, StackTraceElement[] frames) {
        String rule = thread.getName().replaceAll("\\..*", "");
        rule = rule.matches("Finalizer|Common-Cleaner") ? "references" : rule;
        if (!rule.matches("[a-z-]+") || rule.equals("main") || thread.getName().endsWith("busy")) {
            return;
        }
        Object blocker = LockSupport.getBlocker(thread);
        boolean waits = frames[0].getMethodName().startsWith("wait");
        String kind = thread.getState() == Thread.State.BLOCKED ? "monitor" : waits ? "wait" : "park";
        String type = blocker != null ? blocker.getClass().getName() : waits ? waited(thread) : "";
        boolean timed = thread.getState() == Thread.State.TIMED_WAITING;
        StringBuilder text = new StringBuilder("== " + rule + " | " + kind + " | " + type + " | " + timed);
        for (StackTraceElement frame : frames) {
            text.append("\n").append(frame.getClassName()).append(".").append(frame.getMethodName());
        }
        System.out.println(text);
    }

    static String waited(Thread thread) {
        return thread.getName().equals("worker") ? "java.util.LinkedList" : "java.lang.Object";
    }
}
