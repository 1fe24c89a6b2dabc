import headway.api.Progress;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.LongAdder;

/**
 * Does what it is told on its standard input, a line at a time, and says how often it did what: "work N", "hidden", "deep". The tests
 * name lines by the words at their ends.
 */
public final class PointVisits {
  private static final Progress ORDERS = Progress.point("orders");
  private static final Object LOCK = new Object();
  private static final LongAdder HANDLED = new LongAdder();
  private static long sink;

  static final class Desk {
    int handle(int x) {
      HANDLED.increment(); // in-handle
      return x + 1;
    }
  }

  interface Task {
    Object perform(Object what);
  }

  static final class Typed implements Task {
    @Override
    public String perform(Object what) { // has a bridge
      return "";
    }
  }

  static int over(int a) {
    return a;
  }

  static int over(int a, String b) {
    return a;
  }

  static synchronized int locked(int a) {
    return a;
  }

  static void loop(int rounds) {
    for (int i = 0; i < rounds; i++) { // head
      over(over(i), // call
          String.valueOf(
              i));
    }
  }

  static int loopFirst(int rounds) {
    while (rounds > 0) { // while
      rounds--;
    }
    return rounds;
  }

  static int ways(boolean early) {
    try {
      if (early) {
        return 1;
      }
      return 2;
    } finally {
      sink++; // finally
    }
  }

  static void block() {
    synchronized (LOCK) {
      sink++;
    }
  }

  static int deep(int n) {
    synchronized (LOCK) {
      return deep(n + 1) + 1;
    }
  }

  private static void work(int rounds) throws InterruptedException {
    Desk desk = new Desk();
    List<Thread> threads = new ArrayList<>();
    for (int t = 0; t < 4; t++) {
      threads.add(
          new Thread(
              () -> {
                for (int i = 0; i < rounds; i++) {
                  desk.handle(i); // in-lambda
                  locked(i);
                  block();
                  ORDERS.begin();
                  Progress.hit("items");
                  ORDERS.end();
                  ORDERS.hit();
                }
              }));
    }
    for (Thread thread : threads) {
      thread.start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
    for (int i = 0; i < 10; i++) {
      loop(3);
      loopFirst(5);
      ways(i % 2 == 0);
      Task task = new Typed();
      task.perform(i);
    }
  }

  public static void main(String[] arguments) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    say("ready");
    for (String line = in.readLine(); line != null && !line.equals("end"); line = in.readLine()) {
      if (line.startsWith("work ")) {
        work(Integer.parseInt(line.substring("work ".length())));
      } else if (line.equals("deep")) {
        try {
          deep(0);
        } catch (StackOverflowError expected) {
          sink++;
        }
      }
      say(line);
    }
  }

  private static void say(String what) {
    System.out.println("{\"event\": \"" + what + "\", \"handled\": " + HANDLED.sum() + "}");
  }
}
