package headway.workloads.lost;

import headway.workloads.Work;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * Virtual threads that are all unparked at once. Pinned: each sleeps while a class is initialised, so it keeps its carrier, and
 * others that are ready have none. Starved: each computes, and there are fewer carriers than cores; with the cause removed they
 * are threads of the platform. Reached by reflection, because this jar is built for JDK 17. Needs
 * {@code -Djdk.virtualThreadScheduler.parallelism} and {@code maxPoolSize} of as many as threads; starved, of fewer.
 */
final class Carriers implements Case {
    private static final int PER_CARRIER = 3;
    private static volatile long stillMillis;

    private static final Label TAKEN = Label.of("carriers");

    private final Setting setting;
    private final boolean isPinned;
    private volatile long went;
    private volatile boolean mayGo;
    private final Method start;
    private final URL[] here = {Carriers.class.getProtectionDomain().getCodeSource().getLocation()};

    /** Blocks whoever initialises it first, once for each class loader, and tells from when to when. */
    static final class Slow {
        static final long[] STOOD = new long[2];

        static {
            STOOD[0] = System.nanoTime();
            Work.sleep(Long.getLong("headway.still"));
            STOOD[1] = System.nanoTime();
        }

        private Slow() {}
    }

    private Carriers(Setting setting, boolean isPinned) {
        this.setting = setting;
        this.isPinned = isPinned;
        try {
            start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException e) {
            throw new IllegalStateException("needs virtual threads: JDK 21", e);
        }
        stillMillis = (long) (Setting.UNIT_NS * setting.size() / PER_CARRIER) / 1_000_000;
        System.setProperty("headway.still", Long.toString(stillMillis));
    }

    static Case pinned(Setting setting) {
        return new Carriers(setting, true);
    }

    static Case starved(Setting setting) {
        return new Carriers(setting, false);
    }

    @Override
    public void round() {
        int all = setting.threads() * PER_CARRIER;
        mayGo = false;
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < all; i++) {
            threads.add(started(() -> {
                // A latch would not do: who is woken wakes the next one, and has to run for that.
                while (!mayGo) {
                    LockSupport.park(this);
                }
                // From when all may go on until it goes on, a carrier is what is missing.
                if (!setting.isRemoved()) {
                    setting.ledger().wanted(TAKEN, went, System.nanoTime());
                }
                setting.ledger().takesPart(isPinned ? this::stopAndGo : this::computes);
            }));
        }
        Work.await(() -> threads.stream().allMatch(thread -> thread.getState() == Thread.State.WAITING));
        went = System.nanoTime();
        mayGo = true;
        threads.forEach(LockSupport::unpark);
        setting.ledger().standsBy(() -> threads.forEach(Work::join));
    }

    private Thread started(Runnable task) {
        if (!isPinned && setting.isRemoved()) {
            Thread thread = new Thread(task);
            thread.start();
            return thread;
        }
        try {
            return (Thread) start.invoke(null, task);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private void computes() {
        Work.sink = Work.spin(1.0, (int) (Setting.UNIT_NS / PER_CARRIER));
    }

    /** While others are ready, the carriers are what is missing, as far as there are cores for them; else its sleep is. */
    private void stopAndGo() {
        // To load a class is work: only the time in which it stands still is waited.
        long[] stood = setting.isRemoved() ? asleep() : initialised();
        setting.ledger().rested(Label.of("sleep"), stood[0], stood[1]);
        // A virtual thread has no CPU clock of its own: a fixed amount of work instead.
        Work.sink = Work.spin(1.0, (int) (Setting.UNIT_NS / PER_CARRIER / 2));
    }

    private static long[] asleep() {
        long begin = System.nanoTime();
        Work.sleep(stillMillis);
        return new long[] {begin, System.nanoTime()};
    }

    private long[] initialised() {
        try {
            ClassLoader alone = new URLClassLoader(here, ClassLoader.getPlatformClassLoader());
            Field stood = Class.forName(Slow.class.getName(), true, alone).getDeclaredField("STOOD");
            stood.setAccessible(true);
            return (long[]) stood.get(null);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
