import java.util.concurrent.CyclicBarrier;

/** Two threads meet after each round; the long part of it takes twice as long as the short one. Argument: rounds. */
public final class Rounds {
    private static volatile double sink;
    private static long visits;

    private Rounds() {}

    static double spin(double x, int times) {
        for (int i = 0; i < times; i++) {
            x = x * 1.0000001 + 1e-9;
        }
        return x;
    }

    static void visited() {
        visits++;
    }

    static double longPart(double x) {
        return spin(x, 400_000);
    }

    static double shortPart(double x) {
        return spin(x, 200_000);
    }

    static void part(boolean isLong, int rounds, CyclicBarrier barrier) {
        double x = 1;
        try {
            for (int i = 0; i < rounds; i++) {
                x = isLong ? longPart(x) : shortPart(x);
                barrier.await();
            }
        } catch (Exception unexpected) {
            throw new AssertionError(unexpected);
        }
        sink = x;
    }

    public static void main(String[] args) throws Exception {
        int rounds = Integer.parseInt(args[0]);
        CyclicBarrier barrier = new CyclicBarrier(2, Rounds::visited);
        long begin = System.nanoTime();
        Thread other = new Thread(() -> part(false, rounds, barrier), "short");
        other.start();
        part(true, rounds, barrier);
        other.join();
        System.out.println(
                "{\"event\": \"ended\", \"visits\": " + visits + ", \"wall_ns\": " + (System.nanoTime() - begin) + "}");
        if (args.length > 1) {
            System.exit(Integer.parseInt(args[1]));
        }
    }
}
