package headway.workloads.lost;

import headway.workloads.Work;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/** The first of all parts has the share {@code size} of the work; whoever waits at the end waits for it. */
final class Uneven {
    private static final Label FIRST = Label.thread("imbalance", "worker-0");
    private static final int CYCLES = 2;

    private Uneven() {}

    /** The main thread joins the others. */
    static Case join(Setting setting) {
        return () -> setting.ledger().section(FIRST, () -> setting.fork("worker", setting.threads(),
                part -> Work.burnCpu(setting.uneven(part, setting.total()))));
    }

    /** All meet at a barrier, twice in a round. */
    static Case barrier(Setting setting) {
        CyclicBarrier barrier = new CyclicBarrier(setting.threads());
        return () -> setting.fork("worker", setting.threads(), part -> {
            for (int i = 0; i < CYCLES; i++) {
                Work.burnCpu(setting.uneven(part, setting.total() / CYCLES));
                setting.ledger().waits(FIRST, () -> meet(barrier));
            }
        });
    }

    private static void meet(CyclicBarrier barrier) {
        try {
            barrier.await();
        } catch (InterruptedException | BrokenBarrierException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The main thread waits for a latch that each counts down once. */
    static Case latch(Setting setting) {
        return () -> {
            CountDownLatch done = new CountDownLatch(setting.threads());
            List<Thread> all = new ArrayList<>();
            for (int i = 0; i < setting.threads(); i++) {
                int part = i;
                all.add(new Thread(() -> setting.ledger().takesPart(() -> {
                    Work.burnCpu(setting.uneven(part, setting.total()));
                    done.countDown();
                }), "worker-" + part));
            }
            setting.ledger().section(FIRST, () -> {
                all.forEach(Thread::start);
                setting.ledger().standsBy(() -> await(done));
            });
            all.forEach(Work::join);
        };
    }

    static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The main thread asks a pool's futures, one after another. */
    static Case future(Setting setting) {
        return new Futures(setting);
    }

    private static final class Futures implements Case {
        private final Setting setting;
        private final ExecutorService pool;
        private final AtomicInteger number = new AtomicInteger();

        Futures(Setting setting) {
            this.setting = setting;
            pool = Executors.newFixedThreadPool(setting.threads(),
                    work -> new Thread(work, "pooled-" + number.getAndIncrement()));
        }

        @Override
        public void round() {
            setting.ledger().section(Label.of("imbalance"), () -> {
                List<Future<?>> parts = new ArrayList<>();
                for (int i = 0; i < setting.threads(); i++) {
                    long mine = setting.uneven(i, setting.total());
                    parts.add(pool.submit(() -> setting.ledger().takesPart(() -> Work.burnCpu(mine))));
                }
                setting.ledger().standsBy(() -> parts.forEach(Uneven::get));
            });
        }

        @Override
        public void close() {
            pool.shutdown();
        }
    }

    static void get(Future<?> future) {
        try {
            future.get();
        } catch (InterruptedException | ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }
}
