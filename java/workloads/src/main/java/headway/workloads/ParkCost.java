package headway.workloads;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.locks.LockSupport;

/**
 * Parks and unparks, nothing else, and what CPU time they took: to see what recording adds to one of each.
 *
 * <p>Arguments: how many of each (1000000); "alone" (one thread, which unparks itself first: no switch of threads) or "handed"
 * (two threads that wake each other in turn) (alone); "driven": do it once for every line on standard input, not just once.
 */
public final class ParkCost {
    private ParkCost() {}

    public static void main(String[] args) throws IOException {
        int count = Work.argument(args, 0, 1_000_000);
        boolean alone = Work.argument(args, 1, "alone").equals("alone");
        if (args.length <= 2) {
            measure(count, alone);
            return;
        }
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        while (input.readLine() != null) {
            measure(count, alone);
        }
    }

    private static void measure(int count, boolean alone) {
        long begin = System.nanoTime();
        long[] done = alone ? alone(count) : handed(count);
        Report.of("park_cost").put("count", count).put("parks", done[0]).put("cpu_ns", done[1])
                .put("begin_ns", begin).put("end_ns", System.nanoTime()).print();
    }

    /** The number of parks, and the CPU time of the thread that did them. */
    private static long[] alone(int count) {
        Object blocker = new Object();
        Thread self = Thread.currentThread();
        long cpu = Work.cpuNanos();
        for (int i = 0; i < count; i++) {
            LockSupport.unpark(self);
            LockSupport.park(blocker);
        }
        return new long[] {count, Work.cpuNanos() - cpu};
    }

    private static long[] handed(int count) {
        Side[] sides = {new Side(0), new Side(1)};
        sides[0].other = sides[1];
        sides[1].other = sides[0];
        for (Side side : sides) {
            side.turns = count / 2;
            side.start();
        }
        for (Side side : sides) {
            Work.join(side);
        }
        return new long[] {sides[0].parks + sides[1].parks, sides[0].cpu + sides[1].cpu};
    }

    /** Whose turn it is unparks the other and parks until it is its turn again. */
    private static final class Side extends Thread {
        private static volatile int turn;
        private Side other;
        private final int mine;
        private int turns;
        private long parks;
        private long cpu;

        Side(int mine) {
            super("side-" + mine);
            this.mine = mine;
        }

        @Override
        public void run() {
            if (mine == 0) {
                turn = 0;
            }
            long begin = Work.cpuNanos();
            for (int i = 0; i < turns; i++) {
                while (turn % 2 != mine) {
                    parks++;
                    LockSupport.park(this);
                }
                turn = 1 - mine;
                LockSupport.unpark(other);
            }
            cpu = Work.cpuNanos() - begin;
        }
    }
}
