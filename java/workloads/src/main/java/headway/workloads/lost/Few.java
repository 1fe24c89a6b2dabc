package headway.workloads.lost;

import headway.workloads.Work;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/** A pool that has too few threads, or is given too few tasks, for the cores there are: one fewer than threads asked for. */
final class Few implements Case {
    private static final Label FEW = Label.of("too_few_tasks");

    private final Setting setting;
    private final int tasks;
    private final ExecutorService pool;
    private final AtomicInteger number = new AtomicInteger();

    private Few(Setting setting, int workers, int tasks) {
        this.setting = setting;
        this.tasks = tasks;
        pool = Executors.newFixedThreadPool(workers, work -> new Thread(work, "pooled-" + number.getAndIncrement()));
    }

    /** Four tasks for each thread, had the pool them all. */
    static Case threads(Setting setting) {
        return new Few(setting, setting.threads() - (setting.isRemoved() ? 0 : 1), 4 * setting.threads());
    }

    static Case tasks(Setting setting) {
        return new Few(setting, setting.threads(), setting.threads() - (setting.isRemoved() ? 0 : 1));
    }

    @Override
    public void round() {
        long each = setting.total() / tasks;
        setting.ledger().section(FEW, () -> {
            List<Future<?>> all = new ArrayList<>();
            for (int i = 0; i < tasks; i++) {
                all.add(pool.submit(() -> setting.ledger().takesPart(() -> Work.burnCpu(each))));
            }
            setting.ledger().standsBy(() -> all.forEach(Uneven::get));
        });
    }

    @Override
    public void close() {
        pool.shutdown();
    }
}
