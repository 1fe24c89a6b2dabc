package headway.workloads.lost;

import headway.workloads.Work;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/** A producer and a consumer with a small queue between: the slow one of them has the share {@code size} of the work. */
final class Pipeline implements Case {
    private static final int ITEMS = 16;

    private final Setting setting;
    private final boolean isSlowProducer;
    private final BlockingQueue<Integer> queue = new ArrayBlockingQueue<>(1);
    private final Label starved = Label.lock("starved_consumer", Inside.field(queue, "notEmpty"));
    private final Label full = Label.lock("full_producer", Inside.field(queue, "notFull"));

    private Pipeline(Setting setting, boolean isSlowProducer) {
        this.setting = setting;
        this.isSlowProducer = isSlowProducer;
    }

    static Case starved(Setting setting) {
        return new Pipeline(setting, true);
    }

    static Case full(Setting setting) {
        return new Pipeline(setting, false);
    }

    @Override
    public void round() {
        double slow = setting.isRemoved() ? 0.5 : setting.size();
        double producer = isSlowProducer ? slow : 1 - slow;
        long each = setting.total() / ITEMS;
        setting.fork("stage", 2, part -> {
            if (part == 0) {
                produce((long) (each * producer));
            } else {
                consume((long) (each * (1 - producer)));
            }
        });
    }

    private void produce(long nanos) {
        for (int i = 0; i < ITEMS; i++) {
            int item = i;
            Work.burnCpu(nanos);
            setting.ledger().waits(full, () -> put(item));
        }
    }

    private void consume(long nanos) {
        for (int i = 0; i < ITEMS; i++) {
            setting.ledger().waits(starved, this::take);
            Work.burnCpu(nanos);
        }
    }

    private void put(int item) {
        try {
            queue.put(item);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private void take() {
        try {
            queue.take();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
