import java.lang.management.ManagementFactory;

/**
 * Workers that allocate known numbers of arrays and compute alike: {@code UnevenAllocators ARRAYS...}, a worker for each number. Says
 * a line each: {@code NAME BYTES}, what the JVM says that the thread allocated in all.
 */
public class UnevenAllocators {
  static volatile Object sink;
  static final int LENGTH = 100;

  public static void main(String[] args) throws Exception {
    var workers = new Thread[args.length];
    var lines = new String[args.length];
    for (int i = 0; i < args.length; i++) {
      int number = i, arrays = Integer.parseInt(args[i]);
      workers[i] = new Thread(() -> lines[number] = work(arrays), "worker-" + i);
    }
    for (Thread each : workers) each.start();
    for (Thread each : workers) each.join();
    for (String line : lines) System.out.println(line);
  }

  static String work(int arrays) {
    for (int i = 0; i < arrays; i++) sink = new int[LENGTH];
    var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
    double x = 1;
    while (threads.getCurrentThreadCpuTime() < 400_000_000L) for (int j = 0; j < 10_000; j++) x = x * 1.0000001 + 1e-9;
    if (x < 0) System.out.println(x);
    long bytes = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
    return new StringBuilder(Thread.currentThread().getName()).append(' ').append(bytes).toString(); // what + makes is a lot once
  }
}
