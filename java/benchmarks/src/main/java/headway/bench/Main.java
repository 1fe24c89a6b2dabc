package headway.bench;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * Runs one program: {@code java -cp ... headway.bench.Main NAME [THREADS [PERCENT]]}. PERCENT scales the work (100: some
 * seconds). Prints one line of JSON: what was run, the wall and process CPU time of the work, and the CPU time of the whole process, start-up included.
 */
public final class Main {
  private record Entry(Supplier<Program> program, int items) {}

  private static final Map<String, Entry> PROGRAMS =
      new TreeMap<>(
          Map.of(
              "batik", new Entry(Batik::new, 22),
              "fop", new Entry(Fop::new, 180),
              "h2", new Entry(H2::new, 450),
              "jython", new Entry(Jython::new, 140),
              "luindex", new Entry(Luindex::new, 20000),
              "lusearch", new Entry(Lusearch::new, 5500),
              "pmd", new Entry(Pmd::new, 22),
              "rhino", new Entry(Rhino::new, 140),
              "sunflow", new Entry(Sunflow::new, 190),
              "xalan", new Entry(Xalan::new, 750)));

  private Main() {}

  public static void main(String[] args) throws Exception {
    Entry entry = args.length > 0 ? PROGRAMS.get(args[0]) : null;
    if (entry == null) {
      System.err.println("usage: Main " + String.join("|", PROGRAMS.keySet()) + " [THREADS [PERCENT]]");
      System.exit(2);
      return;
    }
    int threads = args.length > 1 ? Integer.parseInt(args[1]) : 4;
    int percent = args.length > 2 ? Integer.parseInt(args[2]) : 100;
    measure(args[0], entry.program.get(), threads, Math.max(1, entry.items * percent / 100));
  }

  /** Prepares and runs a program, and prints its line of JSON. */
  static void measure(String name, Program program, int threads, int items) throws Exception {
    program.prepare(threads, items);
    OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    long cpu = system.getProcessCpuTime();
    long wall = System.nanoTime();
    program.run(threads, items);
    wall = System.nanoTime() - wall;
    long processCpu = system.getProcessCpuTime();
    cpu = processCpu - cpu;
    System.out.printf(
        Locale.ROOT,
        "{\"program\": \"%s\", \"threads\": %d, \"items\": %d, \"wall_ns\": %d, \"cpu_ns\": %d, "
            + "\"process_cpu_ns\": %d}%n",
        name, threads, items, wall, cpu, processCpu);
  }
}
