package headway.api;

import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;

/**
 * A progress point in the program's own code: where a unit of work is done, or where it begins and ends. {@code headway
 * causal} counts the visits; in a program that headway does not profile every method does nothing.
 *
 * <pre>{@code
 * private static final Progress ORDERS = Progress.point("orders");
 * ...
 * ORDERS.hit();          // an order is done
 *
 * ORDERS.begin();        // or, for latency: a request comes in
 * try {
 *   handle(request);
 * } finally {
 *   ORDERS.end();        // on this thread or on another one
 * }
 * }</pre>
 */
public final class Progress {
  private static final ConcurrentMap<String, Progress> ALL = new ConcurrentHashMap<>();

  private final String name;

  /** What headway's agent calls the point, once it has been asked; 0: not yet, or there is no agent. */
  private int point;

  private int pair;

  private Progress(String name) {
    this.name = name;
  }

  /** The point of that name; the same one for the same name. Keep it in a constant: that is cheaper than asking for it. */
  public static Progress point(String name) {
    return ALL.computeIfAbsent(Objects.requireNonNull(name, "name"), Progress::new);
  }

  /** A unit of work is done, at the point of that name. */
  public static void hit(String name) {
    point(name).hit();
  }

  public String name() {
    return name;
  }

  /** A unit of work is done. */
  public void hit() {
    int known = point;
    if (known == 0) {
      known = find(name);
      point = known;
    }
    if (known != 0) {
      count(known);
    }
  }

  /** A request begins. */
  public void begin() {
    int known = pair();
    if (known != 0) {
      time(known);
    }
  }

  /** A request that has begun ends, on whichever thread. */
  public void end() {
    int known = pair();
    if (known != 0) {
      time(known + 1);
    }
  }

  private int pair() {
    int known = pair;
    if (known == 0) {
      known = findPair(name);
      pair = known;
    }
    return known;
  }

  // The calls of these four are led to headway's agent where there is one (native/agent/causal/points/point_loading.cpp).

  private static int find(String name) {
    return 0;
  }

  private static int findPair(String name) {
    return 0;
  }

  private static void count(int point) {}

  private static void time(int point) {}
}
