package headway.workloads.causal;

import headway.workloads.Work;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReference;

/** What the JVM does for a program: collections, the library's own code, virtual threads. */
final class Machine {
    private static final int NODES = 600_000;

    private Machine() {}

    /**
     * Two threads compute; one asks for a full collection every now and then, which takes longer the more is alive. "gc" is how much
     * is: the collector has no line. How much faster it is then, its own clock says.
     */
    static void gc(Play play) {
        Load alive = play.pieces("gc", NODES);
        Load work = play.micros("beside gc", 1000);
        AtomicReference<Node> head = new AtomicReference<>();
        int[] made = {0};
        int[] turn = {0};
        int turns = Math.max(1, 40 / play.longer());
        play.forever("collects", x -> {
            x = Work.spin(x, work.size()); // line: beside gc
            Progress.visited();
            if (++turn[0] % turns == 0) {
                if (made[0] != alive.size()) {
                    made[0] = alive.size();
                    head.set(Node.chain(made[0]));
                }
                System.gc();
            }
            return x;
        });
        play.forever("computes", x -> {
            x = Work.spin(x, work.size());
            Progress.visited();
            return x;
        });
    }

    private static final class Node {
        private final Node left;
        private final Node right;

        private Node(Node left, Node right) {
            this.left = left;
            this.right = right;
        }

        /** A tree of so many nodes. */
        static Node chain(int count) {
            if (count <= 0) {
                return null;
            }
            int half = (count - 1) / 2;
            return new Node(chain(half), chain(count - 1 - half));
        }
    }

    /** Half of the time is in the library, called from one line. */
    static void library(Play play) {
        int rest = play.rounds(500);
        Load sorted = play.pieces("sort", 60 * play.longer());
        for (int i = 0; i < play.threads(2); i++) {
            SplittableRandom random = new SplittableRandom(i);
            long[] numbers = random.longs(600).toArray();
            play.forever("sorts-" + i, x -> {
                for (int left = sorted.size(); left > 0; left--) {
                    long[] copy = numbers.clone();
                    Arrays.sort(copy); // line: sort
                    x += copy[0] == copy[1] ? 1 : 0;
                }
                Progress.visited();
                return Work.spin(x, rest);
            });
        }
    }

    /** Eight virtual threads, on as many carriers as there are cores. Half of what each does is one line. */
    static void virtual(Play play) throws ReflectiveOperationException {
        int rest = play.rounds(1000);
        Load half = play.micros("virtual half", 1000);
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class); // since JDK 21
        for (int i = 0; i < play.threads(8); i++) {
            start.invoke(null, (Runnable) () -> {
                double x = 1.0;
                while (true) {
                    x = Work.spin(x, half.size()); // line: virtual half
                    Progress.visited();
                    x = Work.spin(x, rest);
                    Work.sink = x;
                    Thread.yield();
                }
            });
        }
    }
}
