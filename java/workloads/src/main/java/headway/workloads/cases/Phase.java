package headway.workloads.cases;

import headway.workloads.Report;
import java.util.Arrays;

/** What a program measured of one of its phases, summed over the times it ran: an instance is one of them. */
public final class Phase {
    private static final int APART = 16; // counters of different threads lie on cache lines of their own

    private final String name;
    private final int parts;
    private final long[] cpu;
    private final long[] instance;
    private final long[] waited;
    private long wall;
    private long busiest;
    private long instances;

    public Phase(String name, int parts) {
        this.name = name;
        this.parts = parts;
        cpu = new long[parts * APART];
        instance = new long[parts * APART];
        waited = new long[parts * APART];
    }

    String name() {
        return name;
    }

    /** Called by the thread of that part: what this instance took of its CPU. */
    public void used(int part, long cpuNanos) {
        cpu[part * APART] += cpuNanos;
        instance[part * APART] = cpuNanos;
    }

    /** Called by the thread of that part: how long it waited, blocked or not. */
    public void waited(int part, long nanos) {
        waited[part * APART] += nanos;
    }

    /** Called when all parts are done: how long the instance took. */
    public void over(long wallNanos) {
        long most = 0;
        for (int part = 0; part < parts; part++) {
            most = Math.max(most, instance[part * APART]);
        }
        busiest += most;
        wall += wallNanos;
        instances++;
    }

    /** Forgets what was measured: the program was warming up. */
    public void clear() {
        Arrays.fill(cpu, 0);
        Arrays.fill(waited, 0);
        wall = 0;
        busiest = 0;
        instances = 0;
    }

    public Report report() {
        return Report.of("phase").put("name", name).put("instances", instances).put("wall_ns", wall)
                .put("cpu_ns", perPart(cpu)).put("busiest_ns", busiest).put("waited_ns", perPart(waited));
    }

    private long[] perPart(long[] values) {
        long[] dense = new long[parts];
        Arrays.setAll(dense, part -> values[part * APART]);
        return dense;
    }
}
