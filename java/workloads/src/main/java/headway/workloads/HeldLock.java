package headway.workloads;

/**
 * A holder and one waiter, in rounds: the holder takes the lock, sees the waiter blocked on it, does something for a known
 * time, and gives it back. So between begin and end of each round the waiter waits for nothing but what the holder does.
 */
final class HeldLock {
    /** What the holder does; returns what it measured. */
    interface Deed {
        void run();
    }

    private final MeasuredLock lock;
    private final int rounds;
    private final long[] begin;
    private final long[] end;
    private final long[] cpu;
    private volatile int held = -1;
    private volatile int waited = -1;

    HeldLock(String kind, String name, int rounds) {
        lock = MeasuredLock.of(kind, name);
        this.rounds = rounds;
        begin = new long[rounds];
        end = new long[rounds];
        cpu = new long[rounds];
    }

    /** Plays all rounds with {@code deed} done by the holder, and says what was measured. */
    Report play(String event, Deed deed) {
        Thread waiter = new Thread(this::waitEachRound, "waiter");
        Thread holder = new Thread(() -> holdEachRound(waiter, deed), "holder");
        long started = System.nanoTime();
        waiter.start();
        holder.start();
        Work.join(holder);
        Work.join(waiter);
        return Report.of(event).put("begin_ns", started).put("end_ns", System.nanoTime())
                .put("holder_java_id", holder.getId()).put("waiter_java_id", waiter.getId()).put("round_begin_ns", begin)
                .put("round_end_ns", end).put("round_cpu_ns", cpu).put("lock", java.util.List.of(lock.report()));
    }

    private void holdEachRound(Thread waiter, Deed deed) {
        for (int round = 0; round < rounds; round++) {
            int now = round;
            Work.await(() -> waited == now - 1);
            lock.with(() -> {
                held = now;
                Work.await(() -> lock.hasQueued() && Blockers.isBlocked(waiter));
                long before = Work.cpuNanos();
                begin[now] = System.nanoTime();
                deed.run();
                end[now] = System.nanoTime();
                cpu[now] = Work.cpuNanos() - before;
            });
        }
    }

    private void waitEachRound() {
        for (int round = 0; round < rounds; round++) {
            int now = round;
            Work.await(() -> held == now);
            lock.with(() -> {});
            waited = now;
        }
    }
}
