package headway.workloads;

import headway.workloads.causal.Cases;
import headway.workloads.causal.Load;
import headway.workloads.causal.Play;
import headway.workloads.causal.Progress;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Programs whose answer to "what if this line were faster?" is known by arithmetic, and by making it faster. They are in the package
 * {@code causal}; this class, outside of it, only watches them: with that package as scope, a profiler sees none of it.
 *
 * <p>Arguments: the case; then KEY=VALUE: seconds (10): how long it plays; visits: it ends after so many instead; threads; rate:
 * rounds of {@link Work#spin} in a microsecond (else measured first); longer (1): all that is done in a round takes so many times
 * longer; change: LINE:PERCENT, made faster from the start, with commas.
 *
 * <p>With changes=LINE:PERCENT,... each of them is made and taken back in turn, in slices of slice_ms (400), repeat (10) times, with
 * unchanged slices in between: compared are slices of one warm program. The first 50 ms of each are not counted, nor are parts of
 * rounds: a slice lasts from the last visit before its begin to the last one in it.
 */
public final class Causal {
    private static final long SETTLE_MS = 50;
    private static final List<GarbageCollectorMXBean> COLLECTORS = ManagementFactory.getGarbageCollectorMXBeans();

    private Causal() {}

    public static void main(String[] args) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (int i = 1; i < args.length; i++) {
            String[] pair = args[i].split("=", 2);
            options.put(pair[0], pair[1]);
        }
        double rate = Double.parseDouble(options.getOrDefault("rate", "0"));
        rate = rate > 0 ? rate : roundsPerMicro();
        Play play = new Play(rate, number(options, "threads", 0), number(options, "longer", 1));
        Cases.make(args[0], play);
        change(play, options.getOrDefault("change", ""));
        play.start();
        Report.of("began").put("case", args[0]).put("rate", rate).put("ns", System.nanoTime())
                .put("cores", Runtime.getRuntime().availableProcessors()).print();
        long begin = System.nanoTime();
        if (options.containsKey("changes")) {
            slices(play, options);
        } else {
            whole(number(options, "seconds", 10), Long.parseLong(options.getOrDefault("visits", "0")));
        }
        Report.of("ended").put("visits", Progress.visits()).put("wall_ns", System.nanoTime() - begin)
                .put("done", Progress.done()).put("in_flight_ns", Progress.inFlightNs())
                .put("threads", play.threadReports()).print();
        // The threads of a case never end by themselves: it ends here, at whatever they are.
    }

    private static int number(Map<String, String> options, String key, int otherwise) {
        return Integer.parseInt(options.getOrDefault(key, Integer.toString(otherwise)));
    }

    /** Measures the work, warm, by the CPU clock; the fastest of several times, as others only ever make it slower. */
    private static double roundsPerMicro() {
        double best = 0;
        double x = 1.0;
        for (int i = 0; i < 30; i++) {
            long cpu = Work.cpuNanos();
            for (int j = 0; j < 50; j++) {
                x = Work.spin(x, 100_000);
            }
            best = Math.max(best, 50 * 100_000 * 1000.0 / (Work.cpuNanos() - cpu));
        }
        Work.sink = x;
        return best;
    }

    private static void whole(int seconds, long visits) {
        if (visits > 0) {
            Work.await(() -> Progress.visits() >= visits);
        } else {
            Work.sleep(seconds * 1000L);
        }
    }

    private static void change(Play play, String changes) {
        for (String each : changes.isEmpty() ? new String[0] : changes.split(",")) {
            String[] pair = each.split(":");
            play.load(pair[0]).speedUp(Integer.parseInt(pair[1]));
        }
    }

    private static void slices(Play play, Map<String, String> options) {
        int ms = number(options, "slice_ms", 400);
        Work.sleep(1500); // it warms up
        slice("", 0, ms);
        for (int i = 0; i < number(options, "repeat", 10); i++) {
            for (String each : options.get("changes").split(",")) {
                String[] pair = each.split(":");
                Load load = play.load(pair[0]);
                int percent = Integer.parseInt(pair[1]);
                load.speedUp(percent);
                slice(pair[0], percent, ms);
                load.speedUp(0);
                slice("", 0, ms);
            }
        }
    }

    private static void slice(String line, int percent, int ms) {
        Work.sleep(SETTLE_MS);
        long begin = System.nanoTime();
        long[] first = lastVisit();
        long done = Progress.done();
        long inFlight = Progress.inFlightNs();
        long gc = collectionMs();
        Work.sleep(ms);
        long[] last = lastVisit();
        long visits = last[0] - first[0];
        long wall = visits > 0 && first[0] > 0 ? last[1] - first[1] : System.nanoTime() - begin;
        Report.of("slice").put("line", line).put("percent", percent).put("wall_ns", wall).put("visits", visits)
                .put("done", Progress.done() - done).put("in_flight_ns", Progress.inFlightNs() - inFlight)
                .put("gc_ms", collectionMs() - gc).print();
    }

    /** How many visits there have been, and when the last of them was. */
    private static long[] lastVisit() {
        long visits;
        long ns;
        do {
            visits = Progress.visits();
            ns = Progress.visitedNs();
        } while (visits != Progress.visits());
        return new long[] {visits, ns};
    }

    private static long collectionMs() {
        return COLLECTORS.stream().mapToLong(GarbageCollectorMXBean::getCollectionTime).sum();
    }
}
