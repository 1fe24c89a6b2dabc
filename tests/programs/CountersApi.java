import headway.api.Counters;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Scanner;

/** Counts events of its own by headway.api.Counters and says what it read, with what the kernel's own files say around it. */
public class CountersApi {
  static ByteBuffer kept;

  /** Minor faults of the calling thread, from the kernel's file on it. */
  static long faults() throws Exception {
    String stat = Files.readString(Path.of("/proc/thread-self/stat"));
    return Long.parseLong(stat.substring(stat.lastIndexOf(')') + 2).split(" ")[7]);
  }

  static long cpuNs() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }

  /** Touches new pages and computes. */
  static void work() {
    kept = ByteBuffer.allocateDirect(48 << 20);  // the JVM writes zeros into each of its pages
    double sum = 0;
    for (int i = 1; i < 3_000_000; i++) sum += 1.0 / i;
    kept.put(0, (byte) sum);
  }

  static String line(Object... words) {
    return Arrays.stream(words).map(String::valueOf).reduce((a, b) -> a + "|" + b).get();
  }

  static String thread() throws Exception {
    long[] counts = new long[3];
    try (Counters counters = Counters.group("minor-faults", "task-clock", "page-faults:u")) {
      faults();
      cpuNs();
      long faultsBefore = faults(), before = System.nanoTime();
      counters.readAndReset(counts);
      long cpuWithin = cpuNs(), faultsWithin = faults();
      work();
      faultsWithin = faults() - faultsWithin;
      cpuWithin = cpuNs() - cpuWithin;
      counters.readAndReset(counts);
      long around = System.nanoTime() - before, faults = faults() - faultsBefore;
      return line(counters.isCounting(), counters.reason(), faultsWithin, counts[0], faults, cpuWithin, counts[1], around, counts[2]);
    }
  }

  /** The same faults by CPU: their sum is that of the thread. */
  static String byCpu() throws Exception {
    List<Counters> all = new ArrayList<>();
    long[] one = new long[1];
    for (int cpu = 0; cpu < Runtime.getRuntime().availableProcessors(); cpu++)
      all.add(Counters.group(Counters.Scope.threadOn(cpu), "minor-faults"));
    faults();
    long around = faults();
    for (Counters each : all) each.readAndReset(one);
    long within = faults();
    work();
    within = faults() - within;
    long sum = 0;
    boolean counting = true;
    for (Counters each : all) {
      each.readAndReset(one);
      counting &= each.isCounting() && one[0] >= 0;
      sum += one[0];
    }
    around = faults() - around;
    for (Counters each : all) each.close();
    return line(counting, within, sum, around);
  }

  static String cpus() throws Exception {
    long[] one = new long[1], every = new long[1];
    try (Counters cpu = Counters.group(Counters.Scope.cpu(0), "cpu-clock");
        Counters machine = Counters.group(Counters.Scope.everything(), "cpu-clock")) {
      long outer = System.nanoTime();
      machine.readAndReset(every);
      cpu.readAndReset(one);
      long inner = System.nanoTime();
      Thread.sleep(300);
      inner = System.nanoTime() - inner;
      cpu.readAndReset(one);
      machine.readAndReset(every);
      outer = System.nanoTime() - outer;
      return line(cpu.isCounting(), machine.isCounting(), inner, one[0], every[0], outer);
    }
  }

  static String many() throws Exception {
    int before = new java.io.File("/proc/self/fd").list().length;
    List<Counters> all = new ArrayList<>();
    String reason = "";
    while (reason.isEmpty() && all.size() < 2000) {
      all.add(Counters.group("page-faults"));
      reason = all.get(all.size() - 1).reason();
    }
    for (Counters each : all) each.close();
    for (Counters each : all) each.close();
    long afterClose = all.get(0).readAndReset()[0];
    boolean again = Counters.group("page-faults").isCounting();
    return line(all.size() - 1, reason, afterClose, again, new java.io.File("/proc/self/fd").list().length - before);
  }

  static final com.sun.management.ThreadMXBean THREADS =
      (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
  static long[] lastCounts;

  /** What this thread allocates in 10,000 reads into an array of its own, or into a new one each. */
  static long allocatedIn(Counters counters, long[] counts) {
    long before = THREADS.getCurrentThreadAllocatedBytes();
    for (int i = 0; i < 10_000; i++) {
      if (counts != null) counters.readAndReset(counts);
      else lastCounts = counters.readAndReset();
    }
    return THREADS.getCurrentThreadAllocatedBytes() - before;
  }

  /** The least of ten rounds: in the first ones the JVM still loads, links and compiles what is called. */
  static String allocated() {
    long[] counts = new long[2];
    long mine = Long.MAX_VALUE, others = Long.MAX_VALUE;
    try (Counters counters = Counters.group("task-clock", "page-faults")) {
      for (int round = 0; round < 10; round++) {
        mine = Math.min(mine, allocatedIn(counters, counts));
        others = Math.min(others, allocatedIn(counters, null));
      }
      return line(counters.isCounting(), mine, others);
    }
  }

  static String one(String... events) {
    try (Counters counters = Counters.group(events)) {
      return line(counters.isCounting(), counters.reason(), counters.readAndReset()[0]);
    }
  }

  static String virtual() throws Exception {
    String[] said = {""};
    Thread thread = (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class)
        .invoke(null, (Runnable) () -> said[0] = one("page-faults"));
    thread.join();
    return said[0];
  }

  public static void main(String[] args) throws Exception {
    System.out.println("ready");
    for (Scanner in = new Scanner(System.in); in.hasNextLine(); ) {
      String asked = in.nextLine();
      switch (asked) {
        case "end" -> System.exit(0);
        case "thread" -> System.out.println(thread());
        case "by cpu" -> System.out.println(byCpu());
        case "cpus" -> System.out.println(cpus());
        case "allocated" -> System.out.println(allocated());
        case "many" -> System.out.println(many());
        case "virtual" -> System.out.println(virtual());
        default -> System.out.println(one(asked.split(",")));
      }
    }
  }
}
