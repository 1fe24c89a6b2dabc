package headway.workloads.raytracer;

import java.util.concurrent.atomic.AtomicInteger;

/** A barrier of the program's own: those who came look again and again whether the last one is there. */
final class SpinBarrier implements Barrier {
    private final int threads;
    private final AtomicInteger missing;
    private volatile int generation;

    SpinBarrier(int threads) {
        this.threads = threads;
        missing = new AtomicInteger(threads);
    }

    @Override
    public void await() {
        int mine = generation;
        if (missing.decrementAndGet() == 0) {
            missing.set(threads);
            generation = mine + 1;
        } else {
            while (generation == mine) {
                Thread.onSpinWait();
            }
        }
    }
}
