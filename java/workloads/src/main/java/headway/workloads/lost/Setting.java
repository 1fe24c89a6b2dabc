package headway.workloads.lost;

import headway.workloads.Work;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntConsumer;

/** What all cases are given: whom to tell, how large the cause is, how many threads, and whether the cause is removed. */
record Setting(Ledger ledger, double size, int threads, boolean isRemoved, int port) {
    /** CPU time that each thread has to use in a round, were all alike. */
    static final long UNIT_NS = 40_000_000;

    /** CPU time of all threads in a round. */
    long total() {
        return UNIT_NS * threads;
    }

    /** Starts a thread for each part, which takes part, and waits for the end of all, the first one first. */
    void fork(String name, int parts, IntConsumer work) {
        List<Thread> all = new ArrayList<>();
        for (int i = 0; i < parts; i++) {
            int part = i;
            all.add(new Thread(() -> ledger.takesPart(() -> work.accept(part)), name + "-" + part));
        }
        all.forEach(Thread::start);
        ledger.standsBy(() -> all.forEach(Work::join));
    }

    /** Threads that compute alike, {@code nanos} of CPU time in all. */
    void together(long nanos) {
        if (nanos > 0) {
            fork("worker", threads, part -> Work.burnCpu(nanos / threads));
        }
    }

    /** What the part has to do when the first one of all does the share {@code size} of it, or when all do alike. */
    long uneven(int part, long nanos) {
        if (isRemoved || threads == 1) {
            return nanos / threads;
        }
        return (long) (part == 0 ? nanos * size : nanos * (1 - size) / (threads - 1));
    }
}
