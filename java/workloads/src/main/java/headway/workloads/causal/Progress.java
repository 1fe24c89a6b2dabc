package headway.workloads.causal;

import java.util.concurrent.atomic.LongAdder;

/** Progress of a program: what a causal profiler is told to count, and what the program counts itself. */
public final class Progress {
    private static final LongAdder VISITS = new LongAdder();
    private static final LongAdder IN_FLIGHT_NS = new LongAdder();
    private static final LongAdder DONE = new LongAdder();
    private static volatile long visitedNs;

    private Progress() {}

    /** The progress point. */
    static void visited() {
        VISITS.increment();
        visitedNs = System.nanoTime();
    }

    /** A piece of work enters the program: the begin of a latency. */
    static long begun() {
        return System.nanoTime();
    }

    /** It leaves it, and that is progress. */
    static void done(long begunNs) {
        IN_FLIGHT_NS.add(System.nanoTime() - begunNs);
        DONE.increment();
        visited();
    }

    public static long visits() {
        return VISITS.sum();
    }

    /** When the last visit was: between two of these no part of a round is counted. */
    public static long visitedNs() {
        return visitedNs;
    }

    /** Time that pieces of work were in the program, all of them together. */
    public static long inFlightNs() {
        return IN_FLIGHT_NS.sum();
    }

    public static long done() {
        return DONE.sum();
    }
}
