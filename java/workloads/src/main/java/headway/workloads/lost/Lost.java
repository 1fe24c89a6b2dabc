package headway.workloads.lost;

import headway.workloads.Report;
import headway.workloads.Work;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/**
 * Programs that lose cores to causes that are known, and that measure how much: each thread notes what it waits for and when, so
 * that a run is compared with what happened in it and not with what was meant to.
 *
 * <p>Arguments: the cases, with commas, played one after another; a case of several names with + between plays them in turn, so
 * that both causes are in the same stretch of time (serial+sleep); the size of the causes, 0 to 1 (0.8); rounds (12); threads (as
 * many as cores); what is removed: no, yes, or the names whose cause is, with commas; start: the JVM has started before, and
 * begins when it is given a byte; the port of a server that answers late
 * (for io: one byte, the number of milliseconds, is answered by one).
 *
 * <p>The case "end" plays when all others have, in a shutdown hook.
 *
 * <p>Each case prints one line: between which points in time it played, and the core time lost there by cause and place.
 */
public final class Lost {
    /** The cases by name, in a class of its own: main begins before it is linked, which takes longer than it looks. */
    private static final class Known {
        static final Map<String, Case.Maker> CASES = Map.ofEntries(
                Map.entry("serial", Serial::new),
                Map.entry("lock", Locked::juc),
                Map.entry("monitor", Locked::monitor),
                Map.entry("lock-asleep", Locked::asleep),
                Map.entry("chain", Chain::new),
                Map.entry("join", Uneven::join),
                Map.entry("barrier", Uneven::barrier),
                Map.entry("latch", Uneven::latch),
                Map.entry("future", Uneven::future),
                Map.entry("starved", Pipeline::starved),
                Map.entry("full", Pipeline::full),
                Map.entry("gc", Stops::gc),
                Map.entry("safepoint", Halted::new),
                Map.entry("jit", Compiled::new),
                Map.entry("sleep", Stops::sleep),
                Map.entry("io", Stops::io),
                Map.entry("condition", Stops::condition),
                Map.entry("few-threads", Few::threads),
                Map.entry("few-tasks", Few::tasks),
                Map.entry("pinned", Pinned::new),
                Map.entry("carriers", Carriers::pinned),
                Map.entry("carriers-starved", Carriers::starved),
                Map.entry("busy", Plain::busy),
                Map.entry("alone", Plain::alone),
                Map.entry("crowd", Plain::crowd));
    }

    private Lost() {}

    public static void main(String[] args) throws IOException {
        // Nothing else is linked before it has begun: Work takes as long as the JVM's start.
        List<String> removed = Arrays.asList((args.length > 4 ? args[4] : "no").split(","));
        if (removed.contains("start") && System.in.read() < 0) {
            return; // nobody wants it any more
        }
        long began = System.nanoTime();
        int cores = Runtime.getRuntime().availableProcessors();
        double size = Work.argument(args, 1, 0.8);
        int rounds = Work.argument(args, 2, 12);
        int threads = Work.argument(args, 3, cores);
        int port = Work.argument(args, 5, 0);
        Report.of("began").put("ns", began).put("cores", cores).print();
        for (String name : Work.argument(args, 0, "serial").split(",")) {
            Ledger ledger = new Ledger(cores);
            if (name.equals("end")) {
                boolean isRemoved = removed.contains("yes") || removed.contains(name);
                Ending.playAtTheEnd(name, new Setting(ledger, size, threads, isRemoved, port), rounds);
                continue;
            }
            List<Case> cases = new ArrayList<>();
            for (String each : name.split("\\+")) {
                boolean isRemoved = removed.contains("yes") || removed.contains(each);
                cases.add(Known.CASES.get(each).make(new Setting(ledger, size, threads, isRemoved, port)));
            }
            play(name, cases, ledger, rounds);
            cases.forEach(Case::close);
        }
        Report.of("ended").put("ns", System.nanoTime()).print();
    }

    /** Plays a round first that does not count: classes are loaded, threads started. */
    private static void play(String name, List<Case> cases, Ledger ledger, int rounds) {
        ledger.takesPart(() -> cases.forEach(Case::round));
        ledger.clear();
        long begin = System.nanoTime();
        ledger.takesPart(() -> {
            for (int i = 0; i < rounds; i++) {
                cases.forEach(Case::round);
            }
        });
        long end = System.nanoTime();
        ledger.report(Report.of("case").put("name", name).put("begin_ns", begin).put("end_ns", end)
                .put("wall_ns", end - begin)).print();
    }
}
