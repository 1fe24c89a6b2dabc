package headway.workloads;

/**
 * A holder that computes with the lock held while more threads compute than there are processors: part of each hold it
 * stands in the queue for a CPU. The difference of its wall and CPU time is how long (or stolen by the host).
 *
 * <p>Arguments: juc or monitor (juc); rounds (5); milliseconds of CPU time per hold (20); spinning threads (4 per processor).
 */
public final class HolderDescheduled {
    private static volatile boolean over;

    private HolderDescheduled() {}

    public static void main(String[] args) {
        long nanos = Work.argument(args, 2, 20) * 1_000_000L;
        int spinners = Work.argument(args, 3, 4 * Runtime.getRuntime().availableProcessors());
        HeldLock lock = new HeldLock(Work.argument(args, 0, "juc"), "descheduled", Work.argument(args, 1, 5));
        Thread[] threads = new Thread[spinners];
        for (int i = 0; i < spinners; i++) {
            threads[i] = new Thread(HolderDescheduled::spin, "spinner-" + i);
            threads[i].start();
        }
        Report report = lock.play("holder_descheduled", () -> Work.burnCpu(nanos));
        over = true;
        for (Thread thread : threads) {
            Work.join(thread);
        }
        report.print();
    }

    private static void spin() {
        double x = 1.0;
        while (!over) {
            x = Work.spin(x, 20_000);
        }
        Work.sink = x;
    }
}
