import java.io.File;
import java.lang.management.ManagementFactory;

/** Does units of work, and says how many: for MILLISECONDS of its own CPU time, or until FILE is there. Ends with CODE. */
public final class Units {
    private static volatile long sink;

    static void unit(int steps) {
        long sum = 0;
        for (int i = 0; i < steps; i++) {
            sum += i * 31L ^ sum;
        }
        sink += sum;
    }

    /** units MILLISECONDS|FILE [CODE] */
    public static void main(String[] args) {
        boolean counts = args[0].matches("\\d+");
        File stop = new File(args[0]);
        var clock = ManagementFactory.getThreadMXBean();
        // The JVM's start and an agent's are on this thread, too, and may take longer than a short program itself.
        long endNs = counts ? clock.getCurrentThreadCpuTime() + Long.parseLong(args[0]) * 1_000_000L : 0;
        long units = 0;
        while (counts ? clock.getCurrentThreadCpuTime() < endNs : !stop.exists()) {
            for (int i = 0; i < 10; i++) {
                unit(20_000);
                units++;
            }
        }
        System.out.println("units " + units);
        System.exit(args.length > 1 ? Integer.parseInt(args[1]) : 0);
    }
}
