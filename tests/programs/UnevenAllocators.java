import java.lang.management.ManagementFactory;

/**
 * Workers that allocate known numbers of arrays and compute for so long: {@code UnevenAllocators ARRAYS:CPU_MS...}, a worker each.
 * Says a line each: {@code NAME BYTES CPU_NS}, what the JVM says that the thread allocated in all, and its CPU time.
 */
public class UnevenAllocators {
  static volatile Object sink;
  static final int LENGTH = 100;

  public static void main(String[] args) throws Exception {
    var workers = new Thread[args.length];
    var lines = new String[args.length];
    for (int i = 0; i < args.length; i++) {
      int number = i;
      String[] what = args[i].split(":");
      int arrays = Integer.parseInt(what[0]), ms = Integer.parseInt(what[1]);
      workers[i] = new Thread(() -> lines[number] = work(arrays, ms), "worker-" + i);
    }
    for (Thread each : workers) each.start();
    for (Thread each : workers) each.join();
    for (String line : lines) System.out.println(line);
  }

  static String work(int arrays, int ms) {
    for (int i = 0; i < arrays; i++) sink = new int[LENGTH];
    var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    double x = 1;
    while (threads.getCurrentThreadCpuTime() < ms * 1_000_000L) for (int j = 0; j < 10_000; j++) x = x * 1.0000001 + 1e-9;
    if (x < 0) System.out.println(x);
    long bytes = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
    long cpu = threads.getCurrentThreadCpuTime();
    var line = new StringBuilder(Thread.currentThread().getName()); // what + makes is a lot, once
    return line.append(' ').append(bytes).append(' ').append(cpu).toString();
  }
}
