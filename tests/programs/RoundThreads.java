/**
 * Works in rounds, as benchmarks do: each begins with an explicit collection, and has a thread of its own, "round-N", that allocates
 * N times ARRAYS arrays of LENGTH elements. Argument: how many rounds.
 */
public final class RoundThreads {
    private static final int ARRAYS = 1000;
    private static final int LENGTH = 7;
    private static volatile int[] sink;

    private RoundThreads() {}

    public static void main(String[] args) throws InterruptedException {
        int rounds = Integer.parseInt(args[0]);
        for (int round = 1; round <= rounds; round++) {
            System.gc();
            int arrays = round * ARRAYS;
            Thread worker = new Thread(() -> allocate(arrays), "round-" + round);
            worker.start();
            worker.join();
        }
    }

    private static void allocate(int arrays) {
        for (int i = 0; i < arrays; i++) {
            sink = new int[LENGTH];
        }
    }
}
