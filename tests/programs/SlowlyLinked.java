import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Threads meet classes that another thread is linking, by reading a field, by calling a method and by making an object. A class
 * is verified when it is linked, and for that classes are loaded: by a loader that lets that take as long as it takes for the
 * other `waiters` to be about to use the class, and `millis` more.
 *
 * <p>One more of its locks looks the same: an int[0] of the program's own.
 *
 * <p>Prints a line of JSON for each: the class, which thread linked it, when its loader began and ended to sleep, and of each
 * waiter its id and the times right before and after its use of the class.
 */
public class SlowlyLinked {
    public static class Parent {}

    public static class ReadChild extends Parent {}

    public static class CalledChild extends Parent {}

    public static class MadeChild extends Parent {}

    public static class Read {
        public static int field = 1;

        static Parent up(ReadChild child) {
            return child; // the verifier asks whether that may be
        }
    }

    public static class Called {
        public static int call() {
            return 1;
        }

        static Parent up(CalledChild child) {
            return child;
        }
    }

    public static class Made {
        static Parent up(MadeChild child) {
            return child;
        }
    }

    public static class Reads implements Runnable {
        @Override
        public void run() {
            used(Read.field);
        }
    }

    public static class Calls implements Runnable {
        @Override
        public void run() {
            used(Called.call());
        }
    }

    public static class Makes implements Runnable {
        @Override
        public void run() {
            used(new Made());
        }
    }

    public static void used(Object what) {
        if (what == null) {
            throw new IllegalStateException();
        }
    }

    /** Loads the nested classes of this program once more, some of them slowly. */
    static final class Loader extends ClassLoader {
        static {
            registerAsParallelCapable();
        }

        final String slow;
        final int waiters;
        final int millis;
        final CountDownLatch begun = new CountDownLatch(1);
        final AtomicInteger coming = new AtomicInteger();
        volatile long linker;
        volatile long sleepBegin;
        volatile long sleepEnd;

        Loader(String slow, int waiters, int millis) {
            super(SlowlyLinked.class.getClassLoader());
            this.slow = slow;
            this.waiters = waiters;
            this.millis = millis;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("SlowlyLinked$")) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> loaded = findLoadedClass(name);
                return loaded != null ? loaded : load(name);
            }
        }

        private Class<?> load(String name) throws ClassNotFoundException {
            if (name.equals(slow)) {
                sleep();
            }
            try (InputStream in = getParent().getResourceAsStream(name + ".class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }

        private void sleep() {
            linker = Thread.currentThread().getId();
            begun.countDown();
            try {
                while (coming.get() < waiters) {
                    Thread.sleep(1);
                }
                sleepBegin = System.nanoTime();
                Thread.sleep(millis);
                sleepEnd = System.nanoTime();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    static List<String> met(int waiters, AtomicInteger coming, Runnable use) throws InterruptedException {
        List<String> waits = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < waiters; i++) {
            Thread thread = new Thread(() -> {
                long id = Thread.currentThread().getId();
                coming.incrementAndGet();
                long before = System.nanoTime();
                use.run();
                long after = System.nanoTime();
                synchronized (waits) {
                    waits.add("{\"java_id\":" + id + ",\"before_ns\":" + before + ",\"after_ns\":" + after + "}");
                }
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
        return waits;
    }

    static void link(String name, String user, int waiters, int millis) throws Exception {
        Loader loader = new Loader("SlowlyLinked$" + name + "Child", waiters, millis);
        Runnable use = (Runnable) loader.loadClass("SlowlyLinked$" + user).getDeclaredConstructor().newInstance();
        Thread first = new Thread(use);
        first.start();
        loader.begun.await();
        List<String> waits = met(waiters, loader.coming, use);
        first.join();
        print("SlowlyLinked$" + name, loader.linker, loader.sleepBegin, loader.sleepEnd, waits);
    }

    /** An empty array of the program's own, entered by threads while this one has it. */
    static void lockArray(int waiters, int millis) throws InterruptedException {
        int[] lock = new int[0];
        AtomicInteger coming = new AtomicInteger();
        long[] slept = new long[2];
        CountDownLatch begun = new CountDownLatch(1);
        Thread holder = new Thread(() -> {
            synchronized (lock) {
                begun.countDown();
                try {
                    while (coming.get() < waiters) {
                        Thread.sleep(1);
                    }
                    slept[0] = System.nanoTime();
                    Thread.sleep(millis);
                    slept[1] = System.nanoTime();
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        });
        holder.start();
        begun.await();
        List<String> waits = met(waiters, coming, () -> {
            synchronized (lock) {
                used(lock);
            }
        });
        holder.join();
        print("int[]", holder.getId(), slept[0], slept[1], waits);
    }

    static void print(String name, long holder, long sleepBegin, long sleepEnd, List<String> waits) {
        System.out.println("{\"class\":\"" + name + "\",\"holder\":" + holder + ",\"sleep_begin_ns\":" + sleepBegin
                + ",\"sleep_end_ns\":" + sleepEnd + ",\"waits\":" + waits + "}");
    }

    public static void main(String[] arguments) throws Exception {
        int waiters = Integer.parseInt(arguments[0]);
        int millis = Integer.parseInt(arguments[1]);
        link("Read", "Reads", waiters, millis);
        link("Called", "Calls", waiters, millis);
        link("Made", "Makes", waiters, millis);
        lockArray(waiters, millis);
    }
}
