package headway.workloads;

import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * Contention among classes that are loaded, used and unloaded again, over and over: each round has a class loader of its own,
 * in which two threads contend for a monitor and park. Odd rounds use another class than even ones, so that whatever the JVM
 * uses again belongs to somebody else then.
 *
 * <p>Arguments: rounds (40).
 */
public final class UnloadedLocks {
    private static final int PARKS = 50;

    private UnloadedLocks() {}

    /** Code that is unloaded. Returns how often its threads parked on objects of their class. */
    public static final class Even implements LongSupplier {
        @Override
        public long getAsLong() {
            AtomicLong parks = new AtomicLong();
            contend(this, parks, () -> parkEven(parks));
            return parks.get();
        }

        private void parkEven(AtomicLong parks) {
            parks.incrementAndGet();
            java.util.concurrent.locks.LockSupport.parkNanos(this, 20_000);
        }
    }

    /** The same once more, with a method of another name. */
    public static final class Odd implements LongSupplier {
        @Override
        public long getAsLong() {
            AtomicLong parks = new AtomicLong();
            contend(this, parks, () -> parkOdd(parks));
            return parks.get();
        }

        private void parkOdd(AtomicLong parks) {
            parks.incrementAndGet();
            java.util.concurrent.locks.LockSupport.parkNanos(this, 20_000);
        }
    }

    /** Two threads that park while they hold the monitor of {@code lock}: the other one contends for it. */
    public static void contend(Object lock, AtomicLong parks, Runnable park) {
        Runnable task = () -> {
            for (int i = 0; i < PARKS; i++) {
                synchronized (lock) {
                    park.run();
                }
            }
        };
        Thread other = new Thread(task, "other");
        other.start();
        task.run();
        Work.join(other);
    }

    /** Defines this program's own classes anew. */
    private static final class Anew extends ClassLoader {
        Anew() {
            super(UnloadedLocks.class.getClassLoader());
        }

        Class<?> define(Class<?> original) throws IOException {
            String file = original.getName().substring(original.getName().lastIndexOf('.') + 1) + ".class";
            try (InputStream in = original.getResourceAsStream(file)) {
                byte[] bytes = in.readAllBytes();
                return defineClass(original.getName(), bytes, 0, bytes.length);
            }
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            Class<?> loaded = findLoadedClass(name);
            return loaded != null ? loaded : super.loadClass(name, resolve);
        }
    }

    public static void main(String[] args) throws Exception {
        int rounds = Work.argument(args, 0, 40);
        List<WeakReference<Class<?>>> classes = new ArrayList<>();
        long[] parks = new long[2];
        for (int i = 0; i < rounds; i++) {
            parks[i % 2] += round(i % 2 == 0 ? Even.class : Odd.class, classes);
            if (i % 8 == 7) {
                System.gc();
            }
        }
        System.gc();
        Work.await(() -> ManagementFactory.getClassLoadingMXBean().getUnloadedClassCount() >= rounds);
        Report.of("unloaded").put("even_parks", parks[0]).put("odd_parks", parks[1]).put("rounds", rounds)
                .put("gone", classes.stream().filter(each -> each.get() == null).count()).print();
    }

    private static long round(Class<?> original, List<WeakReference<Class<?>>> classes)
            throws IOException, ReflectiveOperationException {
        Class<?> fresh = new Anew().define(original);
        classes.add(new WeakReference<>(fresh));
        return ((LongSupplier) fresh.getDeclaredConstructor().newInstance()).getAsLong();
    }
}
