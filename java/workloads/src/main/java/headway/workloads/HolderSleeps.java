package headway.workloads;

/**
 * A holder that sleeps with the lock held.
 *
 * <p>Arguments: juc or monitor (juc); rounds (5); milliseconds (40).
 */
public final class HolderSleeps {
    private HolderSleeps() {}

    public static void main(String[] args) {
        int millis = Work.argument(args, 2, 40);
        new HeldLock(Work.argument(args, 0, "juc"), "slept-with", Work.argument(args, 1, 5))
                .play("holder_sleeps", () -> Work.sleep(millis)).print();
    }
}
