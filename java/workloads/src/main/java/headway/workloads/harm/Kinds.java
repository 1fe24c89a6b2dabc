package headway.workloads.harm;

import java.io.InputStream;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.zip.CRC32;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/** Kinds of stress that compute: deep stacks, exceptions, classes, native code, garbage, virtual threads, signals, ends. */
final class Kinds {
    private static final AtomicInteger SIGNALS = new AtomicInteger();
    private static boolean isHandled;

    private Kinds() {}

    static Stress.Round of(String kind) {
        return switch (kind) {
            case "deep" -> Kinds::deep;
            case "mixed" -> Kinds::mixed;
            case "overflow" -> Kinds::overflow;
            case "exceptions" -> Kinds::exceptions;
            case "classes" -> Kinds::classes;
            case "native" -> Kinds::deflate;
            case "garbage" -> Kinds::garbage;
            case "virtual" -> Kinds::virtualThreads;
            case "sigprof" -> Kinds::signals;
            case "threads" -> Kinds::threads;
            case "exit" -> () -> end(() -> System.exit(7));
            case "halt" -> () -> end(() -> Runtime.getRuntime().halt(8));
            case "crash" -> () -> end(Kinds::crash);
            default -> throw new IllegalArgumentException(kind);
        };
    }

    private static void deep() {
        Stress.check(descend(64_000) == 64_000, "depth");
    }

    /** Some of all, for JVMs that compile nothing, or everything. */
    private static void mixed() throws Exception {
        Stress.check(descend(500) == 500, "depth");
        exceptions();
        deflate();
        garbage();
        threads();
        Thread.sleep(2);
    }

    private static int descend(int depth) {
        if (depth == 0) {
            Stress.beat();
            return 0;
        }
        return 1 + descend(depth - 1);
    }

    private static int shallow(int depth) {
        return depth == 0 ? 0 : 1 + shallow(depth - 1);
    }

    private static int deepest;

    private static void dive() {
        deepest++;
        dive();
    }

    private static void overflow() throws Exception {
        boolean[] isCaught = {false};
        Thread thread = new Thread(null, () -> {
            for (int i = 0; i < 5; i++) {
                try {
                    dive();
                } catch (StackOverflowError expected) {
                    isCaught[0] = true;
                }
            }
        }, "diver", 1L << 20);
        thread.start();
        thread.join();
        Stress.check(isCaught[0], "overflow is caught");
    }

    private static int fail(int depth) {
        if (depth == 0) {
            throw new IllegalStateException("at the bottom");
        }
        return fail(depth - 1) + 1;
    }

    private static void exceptions() {
        int caught = 0;
        int[] nothing = null;
        for (int i = 0; i < 2000; i++) {
            try {
                // Null checks in compiled code are faults that the JVM makes exceptions of.
                caught += i % 2 == 0 ? fail(30) : nothing.length;
            } catch (IllegalStateException | NullPointerException expected) {
                caught++;
            }
        }
        Stress.check(caught == 2000, "every exception is caught");
    }

    /** Loaded again and again, each time by a loader of its own. */
    public static final class Loaded {
        public static int twice(int x) {
            return 2 * x;
        }
    }

    private static final class Loader extends ClassLoader {
        Class<?> define(String name, byte[] code) {
            return defineClass(name, code, 0, code.length);
        }
    }

    private static void classes() throws Exception {
        String name = Loaded.class.getName();
        byte[] code;
        try (InputStream in = Kinds.class.getResourceAsStream("/" + name.replace('.', '/') + ".class")) {
            code = in.readAllBytes();
        }
        for (int i = 0; i < 100; i++) {
            Method twice = new Loader().define(name, code).getMethod("twice", int.class);
            int sum = 0;
            for (int k = 0; k < 200; k++) {
                sum += (Integer) twice.invoke(null, k);
            }
            Stress.check(sum == 199 * 200, "sum");
        }
        System.gc();
    }

    private static void deflate() throws Exception {
        byte[] plain = new byte[200_000];
        for (int i = 0; i < plain.length; i++) {
            plain[i] = (byte) (i * 31 ^ i >> 5);
        }
        byte[] packed = new byte[plain.length * 2];
        Deflater deflater = new Deflater();
        deflater.setInput(plain);
        deflater.finish();
        int length = deflater.deflate(packed);
        deflater.end();
        byte[] back = new byte[plain.length];
        Inflater inflater = new Inflater();
        inflater.setInput(packed, 0, length);
        Stress.check(inflater.inflate(back) == back.length, "length");
        inflater.end();
        CRC32 before = new CRC32();
        before.update(plain);
        CRC32 after = new CRC32();
        after.update(back);
        Stress.check(before.getValue() == after.getValue(), "bytes");
    }

    private static void garbage() {
        Map<Integer, List<byte[]>> kept = new HashMap<>();
        for (int i = 0; i < 20_000; i++) {
            List<byte[]> chunk = kept.computeIfAbsent(i % 64, key -> new ArrayList<>());
            chunk.add(new byte[200 + i % 800]);
            if (chunk.size() > 100) {
                chunk.clear();
            }
        }
        for (List<byte[]> chunk : kept.values()) {
            for (byte[] bytes : chunk) {
                Stress.check(bytes.length >= 200 && bytes[0] == 0, "contents");
            }
        }
    }

    private static void virtualThreads() throws Exception {
        // By name: compiled for an older JDK.
        ExecutorService executor = (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        List<Future<Integer>> results = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            int number = i;
            results.add(executor.submit(() -> {
                Thread.sleep(number % 3);
                synchronized (results) {
                    return shallow(number % 50) + number;
                }
            }));
            if (i % 50 == 0) {
                Stress.beat();
            }
        }
        for (int i = 0; i < results.size(); i++) {
            Stress.check(results.get(i).get() == i + i % 50, "result");
        }
        executor.shutdown();
    }

    private static void threads() throws Exception {
        AtomicInteger sum = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            int number = i;
            Thread thread = new Thread(() -> sum.addAndGet(number));
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        Stress.check(sum.get() == 49 * 50 / 2, "sum");
    }

    /** The program handles SIGPROF itself, from some time after its start on. */
    private static synchronized void signals() throws Exception {
        // By name: a compiler warns of the JVM's own classes.
        Class<?> type = Class.forName("sun.misc.Signal");
        Class<?> handler = Class.forName("sun.misc.SignalHandler");
        Object prof = type.getConstructor(String.class).newInstance("PROF");
        if (!isHandled) {
            isHandled = true;
            Object count = Proxy.newProxyInstance(Kinds.class.getClassLoader(), new Class<?>[] {handler}, (self, method, arguments) -> {
                SIGNALS.incrementAndGet();
                return null;
            });
            type.getMethod("handle", type, handler).invoke(null, prof, count);
        }
        int before = SIGNALS.get();
        type.getMethod("raise", type).invoke(null, prof);
        while (SIGNALS.get() == before) {
            Stress.beat();
        }
        Stress.check(SIGNALS.get() == before + 1, "as many as were raised");
    }

    private static void end(Runnable how) {
        for (int i = 0; i < 200; i++) {
            Stress.beat();
        }
        how.run();
    }

    private static void crash() {
        try {
            Class<?> type = Class.forName("sun.misc.Unsafe");
            Field field = type.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            type.getMethod("putAddress", long.class, long.class).invoke(field.get(null), 8L, 1L);
        } catch (ReflectiveOperationException problem) {
            throw new AssertionError(problem);
        }
    }
}
