package headway.workloads;

import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;

/**
 * A program whose first iterations are slower, by known work, and keep the JIT compiler busy: they run code that was loaded just
 * then. Arguments: threads, iterations, how many of them warm up, rounds of an iteration. A line per iteration says when it ended
 * (System.nanoTime) and how long it took.
 */
public final class Warming {
    private static final int COPIES = 6;

    private Warming() {}

    public static void main(String[] args) throws Exception {
        int threads = Work.argument(args, 0, 1);
        int iterations = Work.argument(args, 1, 40);
        int warming = Work.argument(args, 2, 10);
        int rounds = Work.argument(args, 3, 5_000_000);
        for (int i = 0; i < iterations; i++) {
            long begin = System.nanoTime();
            if (i < warming) {
                runNewCode();
                Work.sink += Work.spin(1.0, 2 * rounds);
            }
            share(threads, rounds);
            long end = System.nanoTime();
            System.out.println("iteration " + (i + 1) + " ended " + end + " took " + (end - begin));
        }
    }

    private static void share(int threads, int rounds) throws InterruptedException {
        List<Thread> workers = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Thread worker = new Thread(() -> Work.sink += Work.spin(1.0, rounds / threads), "worker-" + i);
            worker.start();
            workers.add(worker);
        }
        for (Thread worker : workers) {
            worker.join();
        }
    }

    /** Loads copies of a class, so that the compiler has not seen their code, and runs each until it is compiled. */
    private static void runNewCode() throws IOException, ReflectiveOperationException {
        byte[] code;
        try (InputStream in = Warming.class.getResourceAsStream("Warming$Kernel.class")) {
            code = in.readAllBytes();
        }
        for (int copy = 0; copy < COPIES; copy++) {
            IntUnaryOperator kernel = (IntUnaryOperator) new Loader().define(code).getConstructor().newInstance();
            int x = copy;
            for (int i = 0; i < 20_000; i++) {
                x = kernel.applyAsInt(x);
            }
            Work.sink += x;
        }
    }

    private static final class Loader extends ClassLoader {
        Class<?> define(byte[] code) {
            return defineClass(Kernel.class.getName(), code, 0, code.length);
        }
    }

    /** Something to compile. */
    public static final class Kernel implements IntUnaryOperator {
        @Override
        public int applyAsInt(int x) {
            int sum = x;
            for (int i = 1; i < 20; i++) {
                sum = (i & 1) == 0 ? mix(sum, i) : sum ^ (sum >>> 3) + i * 31;
            }
            return sum;
        }

        private int mix(int a, int b) {
            int c = a * 0x9E3779B9 + b;
            switch (c & 7) {
                case 0: return c ^ (c >>> 7);
                case 1: return c + (a << 3);
                case 2: return c - (b << 5);
                case 3: return Integer.rotateLeft(c, b);
                default: return c ^ Integer.reverse(a);
            }
        }
    }
}
