package headway.bench;

import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * Runs one program: {@code java -cp ... headway.bench.Main NAME [THREADS [PERCENT [driven]]]}. PERCENT scales the work (100:
 * some seconds). Prints one line of JSON: what was run, from when to when, the wall and process CPU time of the work, and the
 * CPU time of the whole process, start-up included.
 *
 * <p>With "driven", it does the work once for every line on standard input (for a line "gc", it collects the garbage
 * instead), and ends with the input: in one warm JVM, a benchmark compares runs that differ in nothing but what it changes.
 */
public final class Main {
  private record Entry(Supplier<Program> program, int items) {}

  private static final Map<String, Entry> PROGRAMS =
      new TreeMap<>(
          Map.ofEntries(
              Map.entry("batik", new Entry(Batik::new, 22)),
              Map.entry("fop", new Entry(Fop::new, 180)),
              Map.entry("h2", new Entry(H2::new, 450)),
              Map.entry("jython", new Entry(Jython::new, 140)),
              Map.entry("luindex", new Entry(Luindex::new, 20000)),
              Map.entry("lusearch", new Entry(Lusearch::new, 5500)),
              Map.entry("orders", new Entry(OrderServer::small, 400)),
              Map.entry("pmd", new Entry(Pmd::new, 22)),
              Map.entry("rhino", new Entry(Rhino::new, 140)),
              Map.entry("sunflow", new Entry(Sunflow::new, 190)),
              Map.entry("tpcc", new Entry(OrderServer::tpcc, 160)),
              Map.entry("xalan", new Entry(Xalan::new, 750))));

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
    Program program = entry.program.get();
    int items = Math.max(1, entry.items * percent / 100);
    program.prepare(threads, items);
    if (args.length <= 3) {
      measure(args[0], program, threads, items);
      return;
    }
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      if (line.equals("gc")) {
        System.gc();
        System.out.println("{}");
        System.out.flush();
      } else {
        measure(args[0], program, threads, items);
      }
    }
  }

  /** Runs a program, and prints its line of JSON. */
  static void measure(String name, Program program, int threads, int items) throws Exception {
    OperatingSystemMXBean system = ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    long cpu = system.getProcessCpuTime();
    long begin = System.nanoTime();
    program.run(threads, items);
    long end = System.nanoTime();
    long processCpu = system.getProcessCpuTime();
    cpu = processCpu - cpu;
    System.out.printf(
        Locale.ROOT,
        "{\"program\": \"%s\", \"threads\": %d, \"items\": %d, \"begin_ns\": %d, \"end_ns\": %d, "
            + "\"wall_ns\": %d, \"cpu_ns\": %d, \"process_cpu_ns\": %d}%n",
        name, threads, items, begin, end, end - begin, cpu, processCpu);
    System.out.flush();
  }
}
