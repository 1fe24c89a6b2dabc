package headway.workloads.lost;

import headway.workloads.Work;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;

/**
 * The main thread runs code that is new in each round, and waits while it is compiled: to be run with
 * -XX:CompileCommand=BackgroundCompilation,headway.workloads.lost.Compiled*::*,false. How long compilers worked is told by the
 * JVM. Removed: the same classes are used in all rounds.
 */
final class Compiled implements Case {
    private static final Label JIT = Label.of("jit");
    private static final CompilationMXBean COMPILERS = ManagementFactory.getCompilationMXBean();
    private static final int COPIES = 4;

    private final Setting setting;
    private Runnable[] codes;

    Compiled(Setting setting) {
        this.setting = setting;
    }

    @Override
    public void round() {
        if (codes == null || !setting.isRemoved()) {
            codes = new Runnable[COPIES];
            for (int i = 0; i < COPIES; i++) {
                codes[i] = load();
            }
        }
        long before = COMPILERS.getTotalCompilationTime();
        for (Runnable code : codes) {
            code.run();
        }
        double waitedNs = 1e6 * (COMPILERS.getTotalCompilationTime() - before);
        setting.ledger().measured(JIT, waitedNs * (setting.ledger().cores() - 1));
    }

    /** The code in a class of its own, which the JVM has never seen. */
    private static Runnable load() {
        String name = Code.class.getName();
        ClassLoader alone = new ClassLoader(Compiled.class.getClassLoader()) {
            @Override
            protected Class<?> loadClass(String wanted, boolean resolve) throws ClassNotFoundException {
                return wanted.equals(name) ? define(wanted) : super.loadClass(wanted, resolve);
            }

            private Class<?> define(String wanted) {
                try (InputStream file = Compiled.class.getResourceAsStream("Compiled$Code.class")) {
                    byte[] bytes = file.readAllBytes();
                    return defineClass(wanted, bytes, 0, bytes.length);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }
        };
        try {
            return (Runnable) alone.loadClass(name).getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Loops within loops, unrolled and inlined by the compilers: long to compile, short to run. */
    public static final class Code implements Runnable {
        private static final int SIDE = 12;
        private static final int TIMES = 6_000;

        public Code() {}

        @Override
        public void run() {
            double[][] a = new double[SIDE][SIDE];
            double[][] b = new double[SIDE][SIDE];
            double[][] c = new double[SIDE][SIDE];
            for (int i = 0; i < SIDE; i++) {
                b[i][i] = 1 + i;
            }
            for (int time = 0; time < TIMES; time++) {
                fill(a, time);
                product(a, b, c);
                turn(c, a);
                smooth(a, c);
                product(c, a, b);
                smooth(b, a);
            }
            Work.sink = b[1][1];
        }

        private static void fill(double[][] to, int time) {
            for (int i = 0; i < SIDE; i++) {
                for (int j = 0; j < SIDE; j++) {
                    to[i][j] = (i * 31 + j * 7 + time) % 13 - 6;
                }
            }
        }

        private static void product(double[][] a, double[][] b, double[][] to) {
            for (int i = 0; i < SIDE; i++) {
                for (int j = 0; j < SIDE; j++) {
                    double sum = 0;
                    for (int k = 0; k < SIDE; k++) {
                        sum += a[i][k] * b[k][j];
                    }
                    to[i][j] = sum > 1e6 || sum < -1e6 ? 1 : sum;
                }
            }
        }

        private static void turn(double[][] from, double[][] to) {
            for (int i = 0; i < SIDE; i++) {
                for (int j = 0; j < SIDE; j++) {
                    to[j][SIDE - 1 - i] = from[i][j];
                }
            }
        }

        private static void smooth(double[][] from, double[][] to) {
            for (int i = 1; i < SIDE - 1; i++) {
                for (int j = 1; j < SIDE - 1; j++) {
                    to[i][j] = (from[i - 1][j] + from[i + 1][j] + from[i][j - 1] + from[i][j + 1]) / 4;
                }
            }
        }
    }
}
