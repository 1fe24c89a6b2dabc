package headway.workloads.lost;

import headway.workloads.Work;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Virtual threads that are all unparked at once and then sleep while a class is initialised: they keep their carriers, and
 * others that are ready have none. Reached by reflection, because this jar is built for JDK 17. Needs
 * {@code -Djdk.virtualThreadScheduler.parallelism} and {@code maxPoolSize} of as many as threads.
 */
final class Carriers implements Case {
    private static final int PER_CARRIER = 3;
    private static volatile long stillMillis;

    private final Setting setting;
    private volatile long noneReady;
    private final Method start;
    private final URL[] here = {Carriers.class.getProtectionDomain().getCodeSource().getLocation()};

    /** Blocks whoever initialises it first, once for each class loader. */
    static final class Slow {
        static {
            Work.sleep(Long.getLong("headway.still"));
        }

        private Slow() {}
    }

    Carriers(Setting setting) {
        this.setting = setting;
        try {
            start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException e) {
            throw new IllegalStateException("needs virtual threads: JDK 21", e);
        }
        stillMillis = (long) (Setting.UNIT_NS * setting.size() / PER_CARRIER) / 1_000_000;
        System.setProperty("headway.still", Long.toString(stillMillis));
    }

    @Override
    public void round() {
        int all = setting.threads() * PER_CARRIER;
        AtomicInteger ready = new AtomicInteger(all);
        noneReady = Long.MAX_VALUE;
        CountDownLatch go = new CountDownLatch(1);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < all; i++) {
            Runnable task = () -> {
                Uneven.await(go);
                setting.ledger().takesPart(() -> stopAndGo(ready.decrementAndGet()));
            };
            try {
                threads.add((Thread) start.invoke(null, task));
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }
        Work.await(() -> threads.stream().allMatch(thread -> thread.getState() == Thread.State.WAITING));
        go.countDown();
        setting.ledger().standsBy(() -> threads.forEach(Work::join));
    }

    /** While others are ready, the carriers are what is missing; the last ones just sleep. */
    private void stopAndGo(int ready) {
        long begin = System.nanoTime();
        if (ready == 0 || setting.isRemoved()) {
            noneReady = begin;
        }
        if (setting.isRemoved()) {
            Work.sleep(stillMillis);
        } else {
            initialise();
        }
        long end = System.nanoTime();
        long since = Math.min(Math.max(begin, noneReady), end);
        setting.ledger().waited(Label.of("carriers"), begin, since);
        setting.ledger().waited(Label.of("sleep"), since, end);
        // A virtual thread has no CPU clock of its own: a fixed amount of work instead.
        Work.sink = Work.spin(1.0, (int) (Setting.UNIT_NS / PER_CARRIER / 2));
    }

    private void initialise() {
        try {
            Class.forName(Slow.class.getName(), true, new URLClassLoader(here, ClassLoader.getPlatformClassLoader()));
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException(e);
        }
    }
}
