import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Two workers that do little but Math.cos, in the method of that name, for so many seconds of CPU time together; then says how
 * much each method took, by the threads' own clocks: {@code TwoCosines SECONDS [wait]}. With the second word it begins once its
 * standard input has a line or ends.
 */
public class TwoCosines {
  static final AtomicLong COS_NS = new AtomicLong();
  static final AtomicLong REST_NS = new AtomicLong();
  static volatile double sink;

  static double cos(double x) {
    for (int i = 1; i < 40_000; i++) x += Math.cos(i + x);
    return x;
  }

  static double rest(double x) {
    for (int i = 0; i < 20_000; i++) x = x * 1.0000001 + 1e-9;
    return x;
  }

  static void work(long forNs) {
    ThreadMXBean clock = ManagementFactory.getThreadMXBean();
    long startNs = clock.getCurrentThreadCpuTime();
    long nowNs = startNs;
    while (nowNs - startNs < forNs) {
      double x = cos(nowNs);
      long betweenNs = clock.getCurrentThreadCpuTime();
      sink = rest(x);
      long endNs = clock.getCurrentThreadCpuTime();
      COS_NS.addAndGet(betweenNs - nowNs);
      REST_NS.addAndGet(endNs - betweenNs);
      nowNs = endNs;
    }
  }

  public static void main(String[] args) throws Exception {
    long eachNs = (long) (Double.parseDouble(args[0]) * 1e9 / 2);
    if (args.length > 1) System.in.read();
    Thread[] workers = new Thread[2];
    for (int i = 0; i < workers.length; i++) (workers[i] = new Thread(() -> work(eachNs), "worker-" + i)).start();
    for (Thread worker : workers) worker.join();
    System.out.println("{\"event\": \"cos\", \"cpu_ns\": " + COS_NS + "}");
    System.out.println("{\"event\": \"rest\", \"cpu_ns\": " + REST_NS + "}");
  }
}
