package headway.workloads.lost;

import headway.workloads.Work;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * A chain of two locks: one thread computes with the first; one that has the second wants the first, and computes with both;
 * one wants the second. While the first one computes, both others wait for the first lock, by whatever way.
 */
final class Chain implements Case {
    private final Setting setting;
    private final ReentrantLock first = new ReentrantLock();
    private final ReentrantLock second = new ReentrantLock();
    private volatile int step;
    private volatile long handedOver;

    Chain(Setting setting) {
        this.setting = setting;
    }

    @Override
    public void round() {
        step = 0;
        long held = (long) (setting.total() * setting.size() / 2);
        if (setting.isRemoved()) {
            setting.fork("link", 2, part -> Work.burnCpu(held));
        } else {
            setting.fork("link", 3, part -> link(part, held));
        }
        setting.together(setting.total() - 2 * held);
    }

    private void link(int part, long held) {
        switch (part) {
            case 0 -> holdFirst(held);
            case 1 -> holdBoth(held);
            default -> wantSecond();
        }
    }

    private void holdFirst(long held) {
        first.lock();
        step = 1;
        Work.burnCpu(held);
        first.unlock();
    }

    private void holdBoth(long held) {
        until(() -> step >= 1);
        second.lock();
        step = 2;
        setting.ledger().waits(label(first), first::lock);
        handedOver = System.nanoTime();
        Work.burnCpu(held);
        first.unlock();
        second.unlock();
    }

    private void wantSecond() {
        until(() -> step >= 2);
        long asked = System.nanoTime();
        second.lock();
        long got = System.nanoTime();
        second.unlock();
        setting.ledger().waited(label(first), asked, Math.max(asked, handedOver));
        setting.ledger().waited(label(second), Math.max(asked, handedOver), got);
    }

    private static Label label(ReentrantLock lock) {
        return Label.lock("lock_contention", Inside.sync(lock));
    }

    private static void until(BooleanSupplier done) {
        while (!done.getAsBoolean()) {
            Thread.onSpinWait();
        }
    }
}
