import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Random;

/**
 * Allocates and keeps a moving part of it for args[0] ms of its thread's CPU time, then prints how long the collectors say that
 * they took, in ms, how often they collected, and how often the one did that collected most often.
 */
public final class Collects {
  private static final Object[] KEPT = new Object[300_000];

  private Collects() {}

  public static void main(String[] args) {
    long enough = Long.parseLong(args[0]) * 1_000_000L;
    ThreadMXBean clock = ManagementFactory.getThreadMXBean();
    Random random = new Random(1);
    while (clock.getCurrentThreadCpuTime() < enough) {
      for (int i = 0; i < 10_000; i++) {
        KEPT[random.nextInt(KEPT.length)] = new byte[64 + random.nextInt(64)];
      }
    }
    long ms = 0;
    long count = 0;
    long most = 0;
    for (GarbageCollectorMXBean each : ManagementFactory.getGarbageCollectorMXBeans()) {
      ms += each.getCollectionTime();
      count += each.getCollectionCount();
      most = Math.max(most, each.getCollectionCount());
    }
    System.out.println(ms + " " + count + " " + most);
  }
}
