import java.util.concurrent.CyclicBarrier;

/** Two threads sleep, each in a line of its own, and meet. Arguments: milliseconds of the one and of the other, rounds. */
public final class Meetings {
    private Meetings() {}

    /** A checked exception here is a mistake in this program. */
    interface Action {
        void run() throws Exception;
    }

    static void repeat(int rounds, CyclicBarrier barrier, Action sleep) {
        try {
            for (int i = 0; i < rounds; i++) {
                sleep.run();
                barrier.await();
            }
        } catch (Exception unexpected) {
            throw new AssertionError(unexpected);
        }
    }

    public static void main(String[] args) throws Exception {
        int oneMillis = Integer.parseInt(args[0]);
        int otherMillis = Integer.parseInt(args[1]);
        int rounds = Integer.parseInt(args[2]);
        CyclicBarrier barrier = new CyclicBarrier(2);
        Action one = () -> {
            Thread.sleep(oneMillis); // one
        };
        Action other = () -> {
            Thread.sleep(otherMillis); // other
        };
        Thread thread = new Thread(() -> repeat(rounds, barrier, other));
        thread.start();
        repeat(rounds, barrier, one);
        thread.join();
    }
}
