package headway.workloads.causal;

import java.util.Map;

/** The programs by name. */
public final class Cases {
    private static final Map<String, Maker> ALL = Map.ofEntries(
            Map.entry("barrier", Together::barrier),
            Map.entry("halves", Together::halves),
            Map.entry("independent", Together::independent),
            Map.entry("oversubscribed", Together::oversubscribed),
            Map.entry("spinning", Together::spinning),
            Map.entry("forkjoin", Together::forkJoin),
            Map.entry("alternating", Locks::alternating),
            Map.entry("alternating-monitor", Locks::alternatingMonitor),
            Map.entry("contended", Locks::contended),
            Map.entry("contended-monitor", Locks::contendedMonitor),
            Map.entry("slower", Locks::slower),
            Map.entry("pipeline", Queues::pipeline),
            Map.entry("sleeper", Queues::sleeper),
            Map.entry("pipes", Queues::pipes),
            Map.entry("gc", Machine::gc),
            Map.entry("library", Machine::library),
            Map.entry("virtual", Machine::virtual));

    private Cases() {}

    /** Makes the threads of a program, not yet started. */
    public static void make(String name, Play play) throws Exception {
        Maker maker = ALL.get(name);
        if (maker == null) {
            throw new IllegalArgumentException("no case " + name + ": there are " + ALL.keySet());
        }
        maker.make(play);
    }

    private interface Maker {
        void make(Play play) throws Exception;
    }
}
