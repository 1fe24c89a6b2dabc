/**
 * Reads and writes in a steady ratio, or in one that changes, for some seconds, and says how often, a line for each thread:
 * {@code THREAD TUPLE_WRITES ARRAY_READS}, of class Work. {@code SteadyAccesses SECONDS steady|phases|loop|late}.
 */
public class SteadyAccesses {
  static class Box {
    int value;
    long batches;
  }

  /** 2,000 reads of elements, 500 writes of a field. */
  static class Work {
    static int batch(Box box, int[] values, int writes) {
      int sum = 0;
      for (int i = 0; i < values.length; i++) sum += values[i];
      for (int i = 0; i < writes; i++) box.value = i;
      return sum;
    }
  }

  static volatile boolean stopped;

  static class Runner extends Thread {
    final String mode;
    long reads, writes;
    int sum;

    Runner(String name, String mode) {
      super(name);
      this.mode = mode;
    }

    @Override
    public void run() {
      Box box = new Box();
      int[] values = new int[2000];
      long start = System.nanoTime();
      while (!stopped) {
        boolean second = mode.equals("phases") && (System.nanoTime() - start) / 700_000_000L % 2 == 1;
        int count = second ? 5000 : 500;
        sum += Work.batch(box, values, count);
        reads += 2000;
        writes += count;
      }
    }
  }

  public static void main(String[] args) throws Exception {
    if (args[1].equals("late")) Thread.sleep(2000);
    Runner[] all = {new Runner("one", args[1]), new Runner("two", args[1])};
    for (Runner each : all) each.start();
    Thread.sleep((long) (Double.parseDouble(args[0]) * 1000));
    stopped = true;
    for (Runner each : all) each.join();
    for (Runner each : all) System.out.println(each.getName() + " " + each.writes + " " + each.reads);
  }
}
