package headway.workloads.lost;

import headway.workloads.Report;
import headway.workloads.Work;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * What a program knows of the cores that it leaves idle. Each of its threads says when it takes part and when it waits for what;
 * at each instant, cores that no thread of the program wants are lost to what its threads wait for, one to each and shared
 * where they are fewer, then one to each that rests, and what is then left to what the program does as a whole (its section).
 *
 * <p>It is not known here what else used those cores (the JVM's own threads, other programs), what the host took, and how long
 * a thread waited for a core: that has to be known from elsewhere.
 */
final class Ledger {
    private enum What { RUNS, WAITS, RESTS, SECTION, STOPPED }

    private record Event(long ns, What what, int change, Label label) {}

    private final int cores;
    private final List<Event> events = Collections.synchronizedList(new ArrayList<>());
    private final Map<Label, Double> lost = new LinkedHashMap<>();
    private long waitingCpu;
    private double unnamed;

    Ledger(int cores) {
        this.cores = cores;
    }

    int cores() {
        return cores;
    }

    /** Somebody who does not take part yet would run from {@code begin} to {@code end} but for what it waits for. */
    void wanted(Label label, long begin, long end) {
        add(begin, What.WAITS, 1, label);
        add(end, What.WAITS, -1, label);
    }

    /** The calling thread takes part while {@code work} runs. */
    void takesPart(Runnable work) {
        add(System.nanoTime(), What.RUNS, 1, null);
        try {
            work.run();
        } finally {
            add(System.nanoTime(), What.RUNS, -1, null);
        }
    }

    /** The calling thread, which takes part, would run but for what it waits for here. */
    void waits(Label label, Runnable wait) {
        long cpu = Work.cpuNanos();
        long begin = System.nanoTime();
        wait.run();
        waited(label, begin, System.nanoTime());
        used(Work.cpuNanos() - cpu);
    }

    /** The same, when what it waited for is known only afterwards. */
    void waited(Label label, long begin, long end) {
        add(begin, What.RUNS, -1, null);
        add(begin, What.WAITS, 1, label);
        add(end, What.WAITS, -1, label);
        add(end, What.RUNS, 1, null);
    }

    /** The calling thread, which takes part, rested then: cores are lost to that which nobody waited to use. */
    void rested(Label label, long begin, long end) {
        add(begin, What.RUNS, -1, null);
        add(begin, What.RESTS, 1, label);
        add(end, What.RESTS, -1, label);
        add(end, What.RUNS, 1, null);
    }

    /** The calling thread waits for all the others and has nothing to do itself. */
    void standsBy(Runnable wait) {
        long cpu = Work.cpuNanos();
        add(System.nanoTime(), What.RUNS, -1, null);
        wait.run();
        add(System.nanoTime(), What.RUNS, 1, null);
        used(Work.cpuNanos() - cpu);
    }

    /** While {@code body} runs, idle cores that no thread waits on are lost to {@code label}. */
    void section(Label label, Runnable body) {
        add(System.nanoTime(), What.SECTION, 1, label);
        body.run();
        add(System.nanoTime(), What.SECTION, -1, label);
    }

    /** While {@code body} runs, the whole program stands still but for one thread of the JVM. */
    void stopped(Label label, Runnable body) {
        add(System.nanoTime(), What.STOPPED, 1, label);
        body.run();
        add(System.nanoTime(), What.STOPPED, -1, label);
    }

    /** The same, when it is known only afterwards. */
    void stopped(Label label, long begin, long end) {
        add(begin, What.STOPPED, 1, label);
        add(end, What.STOPPED, -1, label);
    }

    /** Core time lost that was measured in another way. */
    void measured(Label label, double lostNanos) {
        synchronized (events) {
            lost.merge(label, lostNanos, Double::sum);
        }
    }

    private void add(long ns, What what, int change, Label label) {
        events.add(new Event(ns, what, change, label));
    }

    private void used(long cpuNanos) {
        synchronized (events) {
            waitingCpu += cpuNanos;
        }
    }

    /** Forgets everything: nobody takes part. */
    void clear() {
        events.clear();
        lost.clear();
        waitingCpu = 0;
    }

    /** Adds what was lost, by cause and place; {@code unnamed}: what is lost to nothing that is known here. */
    Report report(Report line) {
        sum();
        List<Report> known = lost.entrySet().stream().map(each -> Report.of("lost").put("cause", each.getKey().cause())
                .put("kind", each.getKey().kind()).put("place", each.getKey().place())
                .put("core_ns", Math.round(each.getValue()))).toList();
        return line.put("cores", cores).put("lost", known).put("unnamed_ns", Math.round(unnamed))
                .put("waiting_cpu_ns", waitingCpu);
    }

    private void sum() {
        List<Event> inOrder = new ArrayList<>(events);
        inOrder.sort(Comparator.comparingLong(Event::ns));
        int running = 0;
        Label section = null;
        Label stopped = null;
        Map<Label, Integer> waiting = new LinkedHashMap<>();
        Map<Label, Integer> resting = new LinkedHashMap<>();
        long before = inOrder.isEmpty() ? 0 : inOrder.get(0).ns();
        for (Event each : inOrder) {
            share(each.ns() - before, running, waiting, resting, section, stopped);
            before = each.ns();
            switch (each.what()) {
                case RUNS -> running += each.change();
                case WAITS -> waiting.merge(each.label(), each.change(), Integer::sum);
                case RESTS -> resting.merge(each.label(), each.change(), Integer::sum);
                case SECTION -> section = each.change() > 0 ? each.label() : null;
                case STOPPED -> stopped = each.change() > 0 ? each.label() : null;
            }
        }
    }

    private void share(long dt, int running, Map<Label, Integer> waiting, Map<Label, Integer> resting, Label section,
            Label stopped) {
        if (dt == 0) {
            return;
        }
        if (stopped != null) {
            lost.merge(stopped, (double) dt * (cores - 1), Double::sum);
            return;
        }
        double idle = divide(Math.max(0, cores - running), dt, waiting);
        double left = divide(idle, dt, resting) * dt;
        if (section != null) {
            lost.merge(section, left, Double::sum);
        } else {
            unnamed += left;
        }
    }

    /** Gives each that waits a core of those idle, or its share of them; returns how many are left. */
    private double divide(double idle, long dt, Map<Label, Integer> waiting) {
        int all = waiting.values().stream().mapToInt(Integer::intValue).sum();
        double each = all == 0 ? 0 : Math.min(1, idle / all);
        waiting.forEach((label, count) -> {
            if (count > 0) {
                lost.merge(label, each * count * dt, Double::sum);
            }
        });
        return idle - each * all;
    }
}
