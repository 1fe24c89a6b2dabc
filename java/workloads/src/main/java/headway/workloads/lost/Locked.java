package headway.workloads.lost;

import headway.workloads.Work;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Each thread works with one lock held for the share {@code size} of its time, in two pieces; it computes meanwhile, or sleeps
 * for as long. Removed: each has a lock of its own, or does not sleep.
 */
final class Locked implements Case {
    private static final int PIECES = 2;
    private static final Label SLEEP = Label.of("sleep");

    /** What a lock of one kind does. */
    private interface Kind {
        void lock(Label label, Runnable section);

        Object blocker();
    }

    private final Setting setting;
    private final boolean isAsleep;
    private final Kind[] locks;

    private Locked(Setting setting, boolean isAsleep, Kind... locks) {
        this.setting = setting;
        this.isAsleep = isAsleep;
        this.locks = locks;
    }

    static Case juc(Setting setting) {
        return new Locked(setting, false, many(setting, false));
    }

    static Case monitor(Setting setting) {
        return new Locked(setting, false, many(setting, true));
    }

    static Case asleep(Setting setting) {
        return new Locked(setting, true, many(setting, true));
    }

    private static Kind[] many(Setting setting, boolean isMonitor) {
        Kind[] kinds = new Kind[setting.isRemoved() ? setting.threads() : 1];
        for (int i = 0; i < kinds.length; i++) {
            kinds[i] = isMonitor ? new Monitor(setting.ledger()) : new Juc(setting.ledger());
        }
        return kinds;
    }

    @Override
    public void round() {
        long held = (long) (Setting.UNIT_NS * setting.size()) / PIECES;
        setting.fork("worker", setting.threads(), part -> {
            Kind lock = locks[part % locks.length];
            Label label = Label.lock("lock_contention", lock.blocker());
            for (int i = 0; i < PIECES; i++) {
                lock.lock(label, () -> hold(held));
                Work.burnCpu(Setting.UNIT_NS / PIECES - held);
            }
        });
    }

    private void hold(long nanos) {
        if (!isAsleep) {
            Work.burnCpu(nanos);
        } else if (!setting.isRemoved()) {
            setting.ledger().waits(SLEEP, () -> Work.sleep(nanos / 1_000_000));
        }
    }

    private record Juc(Ledger ledger, ReentrantLock lock) implements Kind {
        Juc(Ledger ledger) {
            this(ledger, new ReentrantLock());
        }

        @Override
        public void lock(Label label, Runnable section) {
            ledger.waits(label, lock::lock);
            try {
                section.run();
            } finally {
                lock.unlock();
            }
        }

        @Override
        public Object blocker() {
            return Inside.sync(lock);
        }
    }

    private record Monitor(Ledger ledger, Object blocker) implements Kind {
        Monitor(Ledger ledger) {
            this(ledger, new Object());
        }

        @Override
        public void lock(Label label, Runnable section) {
            long asked = System.nanoTime();
            synchronized (blocker) {
                ledger.waited(label, asked, System.nanoTime());
                section.run();
            }
        }
    }
}
