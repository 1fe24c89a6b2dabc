import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import jdk.jfr.Configuration;
import jdk.jfr.Recording;

/**
 * Blocks in every way, allocates, computes and collects garbage, in two chunks of a recording that Flight Recorder makes of it;
 * in the second half it samples more often.
 *
 * <p>Arguments: the file to write; "all" for events that tell the same thing twice (allocations by buffer and by sample, CPU time by
 * two samplers, pauses beside collections), "few" for one each. Prints how many bytes the thread "allocator" has allocated.
 */
public final class FlightRecorded {
    private static final List<String> WAITS = List.of("ThreadPark", "JavaMonitorEnter", "JavaMonitorWait", "ThreadSleep");
    private static final List<String> TOLD_TWICE =
            List.of("ObjectAllocationInNewTLAB", "ObjectAllocationOutsideTLAB", "GCPhasePause", "CPUTimeSample");
    private static volatile Object kept;
    private static volatile double sink;
    private static long allocated;

    private FlightRecorded() {}

    public static void main(String[] args) throws Exception {
        try (Recording recording = new Recording(Configuration.getConfiguration("profile"))) {
            for (String name : WAITS) {
                recording.enable("jdk." + name).withThreshold(Duration.ZERO).withStackTrace();
            }
            for (String name : TOLD_TWICE) {
                if (args[1].equals("all")) {
                    recording.enable("jdk." + name);
                } else {
                    recording.disable("jdk." + name);
                }
            }
            if (args[1].equals("all")) {
                recording.enable("jdk.CPUTimeSample").with("throttle", "2ms");
            }
            recording.enable("jdk.ExecutionSample").withPeriod(Duration.ofMillis(10));
            recording.enable("jdk.CPULoad").with("period", "everyChunk");
            recording.start();
            for (int i = 0; i < 2; i++) {
                if (i == 1) {
                    recording.enable("jdk.ExecutionSample").withPeriod(Duration.ofMillis(7)); // from here on
                }
                block();
                ended(new Thread(FlightRecorded::allocate, "allocator"));
                ended(new Thread(FlightRecorded::compute, "computer"));
                System.gc();
                try (Recording other = new Recording()) { // its begin and end make the JVM begin a new chunk
                    other.start();
                }
            }
            recording.stop();
            recording.dump(Path.of(args[0]));
        }
        System.out.println("{\"allocated\": " + allocated + "}");
    }

    private static void ended(Thread thread) throws InterruptedException {
        thread.start();
        thread.join();
    }

    private static void allocate() {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        long before = threads.getCurrentThreadAllocatedBytes();
        for (int i = 0; i < 60_000; i++) {
            kept = new byte[1000];
        }
        kept = new byte[8 << 20]; // in no thread's buffer
        allocated += threads.getCurrentThreadAllocatedBytes() - before;
    }

    private static void compute() {
        double x = 1;
        for (int i = 0; i < 60_000_000; i++) {
            x = x * 1.0000001 + 1e-9;
        }
        sink = x;
    }

    /** Contention, waits, parks and sleeps, with and without an end of their own. */
    private static void block() throws Exception {
        Object monitor = new Object();
        ReentrantLock lock = new ReentrantLock();
        List<Thread> threads = new ArrayList<>();
        synchronized (monitor) {
            threads.add(until(Thread.State.BLOCKED, new Thread(() -> enter(monitor), "contender")));
            startVirtual(threads, () -> enter(monitor));
            monitor.wait(5);
            Thread.sleep(2);
        }
        threads.add(until(Thread.State.WAITING, new Thread(() -> await(monitor), "waiter")));
        synchronized (monitor) {
            monitor.notifyAll();
        }
        lock.lock();
        threads.add(until(Thread.State.WAITING, new Thread(() -> {
            lock.lock();
            lock.unlock();
        }, "locker \u00e9")));
        lock.unlock();
        LockSupport.parkNanos(monitor, 1_000_000);
        LockSupport.parkUntil(System.currentTimeMillis() + 3);
        Thread.sleep(3);
        for (Thread each : threads) {
            each.join();
        }
    }

    private static void enter(Object monitor) {
        synchronized (monitor) {
            sink += 1;
        }
    }

    private static void await(Object monitor) {
        synchronized (monitor) {
            try {
                monitor.wait();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private static Thread until(Thread.State state, Thread thread) {
        thread.start();
        while (thread.getState() != state && thread.isAlive()) {
            Thread.onSpinWait();
        }
        return thread;
    }

    private static void startVirtual(List<Thread> threads, Runnable task) {
        try {
            threads.add((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task));
        } catch (ReflectiveOperationException e) {
            sink += 1; // JDK 17 has none
        }
    }
}
