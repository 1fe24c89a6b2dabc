package headway.workloads.lost;

import headway.workloads.Work;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;

/** Programs at the edge: threads that never block; one thread only; thousands of threads that all wait for one. */
final class Plain {
    private static final int CROWD = 10_000;
    private static final int FEW = 100;

    private Plain() {}

    static Case busy(Setting setting) {
        return () -> setting.together(setting.total());
    }

    static Case alone(Setting setting) {
        Label label = Label.thread("serial_section", "main");
        return () -> setting.ledger().section(label, () -> Work.burnCpu(Setting.UNIT_NS));
    }

    /** Thousands of threads, in the first round a few, wait until the main thread has computed. */
    static Case crowd(Setting setting) {
        AtomicBoolean isWarm = new AtomicBoolean();
        return () -> {
            CountDownLatch go = new CountDownLatch(1);
            List<Thread> all = new ArrayList<>();
            int count = isWarm.getAndSet(true) ? CROWD : FEW;
            for (int i = 0; i < count; i++) {
                Thread thread = new Thread(null, () -> Uneven.await(go), "crowd-" + i, 64 << 10);
                thread.start();
                all.add(thread);
            }
            Work.burnCpu(setting.total());
            go.countDown();
            setting.ledger().standsBy(() -> all.forEach(Work::join));
        };
    }
}
