package headway.workloads;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Pairs of threads that hand a turn to each other: nothing but switches.
 *
 * <p>Arguments: pairs (1); hand-offs per pair (10000); "park" (LockSupport) or "queue" (SynchronousQueue) (park);
 * microseconds of CPU time between two hand-offs (0); "driven": play once for every line on standard input, not just once.
 */
public final class PingPong {
    private PingPong() {}

    public static void main(String[] args) throws IOException {
        int pairs = Work.argument(args, 0, 1);
        int handoffs = Work.argument(args, 1, 10_000);
        boolean park = args.length <= 2 || args[2].equals("park");
        long workNanos = Work.argument(args, 3, 0) * 1000L;
        if (args.length <= 4) {
            play(pairs, handoffs, park, workNanos);
            return;
        }
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
        while (input.readLine() != null) {
            play(pairs, handoffs, park, workNanos);
        }
    }

    private static void play(int pairs, int handoffs, boolean park, long workNanos) {
        AtomicLong parks = new AtomicLong();
        AtomicLong cpu = new AtomicLong();
        Thread[] threads = new Thread[2 * pairs];
        for (int pair = 0; pair < pairs; pair++) {
            Runnable[] sides = park ? Turn.sides(handoffs, workNanos, parks) : queueSides(handoffs, workNanos);
            threads[2 * pair] = new Thread(timed(sides[0], cpu), "ping-" + pair);
            threads[2 * pair + 1] = new Thread(timed(sides[1], cpu), "pong-" + pair);
        }
        long begin = System.nanoTime();
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            Work.join(thread);
        }
        long end = System.nanoTime();
        Report.of("ping_pong").put("pairs", pairs).put("handoffs", (long) pairs * handoffs).put("parks", parks.get())
                .put("begin_ns", begin).put("end_ns", end).put("cpu_ns", cpu.get()).print();
    }

    private static Runnable timed(Runnable side, AtomicLong cpu) {
        return () -> {
            side.run();
            cpu.addAndGet(Work.cpuNanos());
        };
    }

    private static Runnable[] queueSides(int handoffs, long workNanos) {
        SynchronousQueue<Integer> queue = new SynchronousQueue<>();
        return new Runnable[] {
            () -> {
                for (int i = 0; i < handoffs; i++) {
                    Work.burnCpu(workNanos);
                    put(queue, i);
                }
            },
            () -> {
                for (int i = 0; i < handoffs; i++) {
                    if (take(queue) != i) {
                        throw new IllegalStateException("out of order");
                    }
                    Work.burnCpu(workNanos);
                }
            },
        };
    }

    private static void put(SynchronousQueue<Integer> queue, int value) {
        try {
            queue.put(value);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    private static int take(SynchronousQueue<Integer> queue) {
        try {
            return queue.take();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Whose turn it is: even numbers are ping's. Each side parks until the other has counted on. */
    private static final class Turn {
        private volatile int turn;
        private volatile Thread ping;
        private volatile Thread pong;

        static Runnable[] sides(int handoffs, long workNanos, AtomicLong parks) {
            Turn turn = new Turn();
            return new Runnable[] {
                () -> {
                    turn.ping = Thread.currentThread();
                    turn.play(0, handoffs, workNanos, parks);
                },
                () -> {
                    turn.pong = Thread.currentThread();
                    turn.play(1, handoffs, workNanos, parks);
                },
            };
        }

        private void play(int mine, int handoffs, long workNanos, AtomicLong parks) {
            long parked = 0;
            for (int next = mine; next < handoffs; next += 2) {
                while (turn != next) {
                    parked++;
                    LockSupport.park(this);
                }
                Work.burnCpu(workNanos);
                turn = next + 1;
                LockSupport.unpark(mine == 0 ? pong : ping);
            }
            parks.addAndGet(parked);
        }
    }
}
