import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Allocates in several ways, most of which compiled code has the JVM do, for so many seconds of CPU time in turns; then says how
 * much each took, by the thread's own clock: {@code Allocations SECONDS}.
 */
public class Allocations {
  static volatile Object sink;

  static void large() {
    for (int i = 0; i < 20; i++) sink = new byte[300_000 + (i & 7) * 1000];
  }

  static void arrays() {
    for (int i = 0; i < 200; i++) sink = new long[3000 + (i & 7) * 100];
  }

  static void nested() {
    for (int i = 0; i < 40; i++) sink = new int[30][200];
  }

  static void clones() {
    long[] one = new long[2500];
    for (int i = 0; i < 200; i++) sink = one.clone();
  }

  static void computes() {
    double x = 1;
    for (int i = 1; i < 60_000; i++) x = x * 1.0000001 + 1e-9;
    sink = x;
  }

  public static void main(String[] args) {
    ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    String[] names = {"large", "arrays", "nested", "clones", "computes"};
    Runnable[] kinds = {
      Allocations::large, Allocations::arrays, Allocations::nested, Allocations::clones, Allocations::computes
    };
    long[] used = new long[kinds.length];
    long last = threads.getCurrentThreadCpuTime();
    long end = last + (long) (Double.parseDouble(args[0]) * 1e9);
    while (last < end) {
      for (int i = 0; i < kinds.length; i++) {
        kinds[i].run();
        long now = threads.getCurrentThreadCpuTime();
        used[i] += now - last;
        last = now;
      }
    }
    for (int i = 0; i < kinds.length; i++) {
      System.out.println("{\"event\": \"" + names[i] + "\", \"cpu_ns\": " + used[i] + "}");
    }
  }
}
