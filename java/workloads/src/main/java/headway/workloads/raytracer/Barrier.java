package headway.workloads.raytracer;

import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;

/** Where threads wait until all have come. */
interface Barrier {
    void await();

    static Barrier of(String version, int threads) {
        return switch (version) {
            case "sequential" -> () -> {};
            case "spinning" -> new SpinBarrier(threads);
            case "cyclic" -> cyclic(new CyclicBarrier(threads));
            default -> throw new IllegalArgumentException("no version " + version);
        };
    }

    private static Barrier cyclic(CyclicBarrier barrier) {
        return () -> {
            try {
                barrier.await();
            } catch (InterruptedException | BrokenBarrierException e) {
                throw new IllegalStateException(e);
            }
        };
    }
}
