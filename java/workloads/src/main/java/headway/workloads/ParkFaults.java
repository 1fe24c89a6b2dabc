package headway.workloads;

import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * Ends in the middle of parks: some daemon threads park and wake one another all the time, some stay parked for ever.
 *
 * <p>Arguments: how it ends: "return" (from main), "exit" N, "halt" N, "crash" (a store to address 0), "killed" (waits for
 * it), or "stdin" (at the end of its standard input, the busy threads joined, with a log); a file for the counts; a file for
 * the log.
 */
public final class ParkFaults {
    private static final int BUSY = 4;
    private static final int FOR_EVER = 3;
    private static final int PARKS = 2_000;

    /** What threads park on: a class of its own each, to find it by. */
    static final class Busy {}

    static final class ForEver {}

    static final class Held {}

    private static volatile boolean over;

    private final CountedParks parks;
    private final Busy busy = new Busy();
    private final ForEver forEver = new ForEver();
    private final Held held = new Held();
    private final List<Thread> threads = new ArrayList<>();

    private ParkFaults(CountedParks parks) {
        this.parks = parks;
    }

    public static void main(String[] args) throws Exception {
        String how = args[0];
        boolean logged = how.equals("stdin");
        ParkFaults faults = new ParkFaults(new CountedParks(Path.of(args[2]), BUSY + FOR_EVER, logged));
        faults.start();
        faults.awaitParks();
        faults.report();
        switch (how) {
            case "return" -> { }
            case "exit" -> System.exit(Integer.parseInt(args[1]));
            case "halt" -> Runtime.getRuntime().halt(Integer.parseInt(args[1]));
            case "crash" -> crash();
            case "killed" -> Work.sleep(600_000);
            case "stdin" -> {
                faults.untilInputEnds();
                faults.parks.writeLog(Path.of(args[3]));
            }
            default -> throw new IllegalArgumentException(how);
        }
    }

    private void start() {
        for (int i = 0; i < BUSY; i++) {
            int me = i;
            daemon("busy-" + i, () -> beBusy(me));
        }
        for (int i = 0; i < FOR_EVER; i++) {
            int me = BUSY + i;
            daemon("for-ever-" + i, () -> {
                while (!over) {
                    parks.park(me, forEver, 0, "for ever");
                }
            });
        }
        for (Thread thread : threads) {
            thread.start();
        }
    }

    private void daemon(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        threads.add(thread);
    }

    /**
     * Wakes its partner, then parks: whoever parked last has woken the other before, so that one of them is awake. Naps now and
     * then, so that there are tens of thousands of parks a second and not hundreds.
     */
    private void beBusy(int me) {
        for (int i = 1; !over; i++) {
            LockSupport.unpark(threads.get(me ^ 1));
            parks.park(me, busy, 0, "busy");
            if (i % 10 == 0) {
                Work.sleep(1);
            }
        }
        LockSupport.unpark(threads.get(me ^ 1));
    }

    private void awaitParks() {
        Work.await(() -> {
            for (int i = 0; i < BUSY; i++) {
                if (parks.ended(i) < PARKS) {
                    return false;
                }
            }
            return threads.subList(BUSY, BUSY + FOR_EVER).stream().allMatch(Blockers::isBlocked);
        });
    }

    private void report() {
        long[] ids = new long[BUSY + FOR_EVER];
        long[] ended = new long[BUSY + FOR_EVER];
        for (int i = 0; i < ids.length; i++) {
            ids[i] = threads.get(i).getId();
            ended[i] = parks.ended(i);
        }
        Report.of("parked").put("pid", ProcessHandle.current().pid()).put("busy_hash", System.identityHashCode(busy))
                .put("for_ever_hash", System.identityHashCode(forEver)).put("held_hash", System.identityHashCode(held))
                .put("java_ids", ids).put("ended", ended).put("busy", BUSY).put("for_ever", FOR_EVER)
                .put("now_ns", System.nanoTime()).print();
    }

    /** Holds a monitor meanwhile that another thread wants and a third waits on, so that those are blocked as well. */
    private void untilInputEnds() throws IOException {
        Thread wants = new Thread(() -> {
            synchronized (held) {
                Work.sink = 1;
            }
        }, "wants");
        synchronized (held) {
            wants.start();
            Work.await(() -> Blockers.isBlocked(wants));
            Report.of("ready").print();
            while (System.in.read() != -1) { }
        }
        Work.join(wants);
        over = true;
        for (int i = 0; i < threads.size(); i++) {
            LockSupport.unpark(threads.get(i));
        }
        for (Thread thread : threads) {
            Work.join(thread);
        }
        Report.of("done").put("now_ns", System.nanoTime()).print();
    }

    /** What a JVM can't survive. */
    private static void crash() throws ReflectiveOperationException {
        Field field = Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe");
        field.setAccessible(true);
        Object unsafe = field.get(null);
        unsafe.getClass().getMethod("putLong", long.class, long.class).invoke(unsafe, 8L, 0L);
    }
}
