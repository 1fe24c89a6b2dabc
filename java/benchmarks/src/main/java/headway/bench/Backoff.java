package headway.bench;

import java.sql.SQLException;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/**
 * An SQL database whose clients sleep for 1 to 10 ms, at random, after a failed transaction, and try again: what a causal profiler
 * found to hold H2 back (JCoz). {@code java -cp ... headway.bench.Backoff [SECONDS [THREADS [WAREHOUSES [MODE]]]]}. MODE: long
 * (the default); short: sleeps are 1000 times shorter; turns: long and short ones in turn, a second each, in one warm program.
 *
 * <p>Prints lines of JSON: transactions, failures, and how long that took.
 */
public final class Backoff {
  private static final String URL = "jdbc:h2:mem:orders;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=60000";
  private static final LongAdder COMMITTED = new LongAdder();
  private static final LongAdder FAILED = new LongAdder();
  private static volatile boolean isShort;
  private static volatile boolean isOver;

  private Backoff() {}

  public static void main(String[] args) throws Exception {
    int seconds = args.length > 0 ? Integer.parseInt(args[0]) : 20;
    int threads = args.length > 1 ? Integer.parseInt(args[1]) : 3;
    int warehouses = args.length > 2 ? Integer.parseInt(args[2]) : 4;
    String mode = args.length > 3 ? args[3] : "long";
    isShort = mode.equals("short");
    Orders.create(URL, warehouses);
    AtomicReference<Exception> failure = new AtomicReference<>();
    Thread[] clients = new Thread[threads];
    for (int i = 0; i < threads; i++) {
      int seed = i;
      clients[i] = new Thread(() -> client(seed, warehouses, failure), "client-" + i);
      clients[i].start();
    }
    Thread.sleep(mode.equals("turns") ? 10_000 : 0); // it warms up
    for (int left = mode.equals("turns") ? seconds : 1; left > 0; left--) {
      isShort = mode.equals("turns") ? left % 2 == 0 : isShort;
      measure(mode.equals("turns") ? 1000 : seconds * 1000L);
    }
    isOver = true;
    for (Thread client : clients) {
      client.join();
    }
    if (failure.get() != null) {
      throw failure.get();
    }
  }

  private static void measure(long millis) throws InterruptedException {
    Thread.sleep(50); // who sleeps since before
    long begin = System.nanoTime();
    long committed = COMMITTED.sum();
    long failed = FAILED.sum();
    Thread.sleep(millis);
    System.out.printf(
        Locale.ROOT,
        "{\"program\": \"backoff\", \"short\": %b, \"transactions\": %d, \"failed\": %d, \"wall_ns\": %d}%n",
        isShort, COMMITTED.sum() - committed, FAILED.sum() - failed, System.nanoTime() - begin);
    System.out.flush();
  }

  private static void client(int seed, int warehouses, AtomicReference<Exception> failure) {
    SplittableRandom random = new SplittableRandom(1000 + seed);
    try (Orders orders = new Orders(URL, seed, warehouses)) {
      while (!isOver) {
        carryOut(orders, random);
        committed();
      }
    } catch (Exception e) {
      failure.compareAndSet(null, e);
    }
  }

  private static void carryOut(Orders orders, SplittableRandom random) throws SQLException, InterruptedException {
    while (true) {
      try {
        orders.transaction();
        return;
      } catch (SQLException e) {
        orders.undo();
        FAILED.increment();
        backOff(1 + random.nextInt(10));
      }
    }
  }

  private static void backOff(int units) throws InterruptedException {
    if (isShort) {
      LockSupport.parkNanos(units * 1000L);
    } else {
      Thread.sleep(units); // line: backoff
    }
  }

  /** The progress point. */
  private static void committed() {
    COMMITTED.increment();
  }
}
