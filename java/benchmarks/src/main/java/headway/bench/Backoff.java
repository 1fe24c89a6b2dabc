package headway.bench;

import java.sql.SQLException;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/**
 * An SQL database whose clients sleep for 1 to 10 ms, at random, after a failed transaction, and try it again: what a causal
 * profiler found to hold H2 back (JCoz). {@code java -cp ... headway.bench.Backoff [SECONDS [THREADS [WAREHOUSES [MODE [TURN_MS [COUNT]]]]]]}.
 * MODE: long (the default); short: sleeps are 1000 times shorter; turns: SECONDS turns of long and short ones, TURN_MS each (1000),
 * in one warm program; watched: as long, but the main thread does not join the clients, it sleeps until they are to end. With a COUNT
 * each client ends after so many transactions, if not before.
 *
 * <p>Prints lines of JSON: transactions, failures, and how long that took.
 */
public final class Backoff {
  private static final String URL = "jdbc:h2:mem:orders;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=60000";
  private static final long SECOND_NS = 1_000_000_000L;
  private static final int WARM_UP_S = 20; // before turns
  private static final int LONGEST_BACK_OFF_MS = 10;
  private static final LongAdder COMMITTED = new LongAdder();
  private static final LongAdder FAILED = new LongAdder();
  private static volatile boolean isShort;
  private static volatile long endNs;
  private static int most = Integer.MAX_VALUE; // transactions of a client

  private Backoff() {}

  public static void main(String[] args) throws Exception {
    int seconds = args.length > 0 ? Integer.parseInt(args[0]) : 20;
    int threads = args.length > 1 ? Integer.parseInt(args[1]) : 2;
    int warehouses = args.length > 2 ? Integer.parseInt(args[2]) : 1;
    String mode = args.length > 3 ? args[3] : "long";
    isShort = mode.equals("short");
    TpccTables.create(URL, warehouses);
    int turnMs = args.length > 4 ? Integer.parseInt(args[4]) : 1000;
    most = args.length > 5 ? Integer.parseInt(args[5]) : most;
    boolean isTurns = mode.equals("turns");
    endNs = isTurns ? Long.MAX_VALUE : System.nanoTime() + seconds * SECOND_NS;
    AtomicReference<Exception> failure = new AtomicReference<>();
    Thread[] clients = new Thread[threads];
    for (int i = 0; i < threads; i++) {
      int seed = i;
      clients[i] = new Thread(() -> client(seed, warehouses, failure), "client-" + i);
      clients[i].start();
    }
    if (isTurns) {
      takeTurns(seconds, turnMs);
    } else {
      measure(clients, mode.equals("watched"));
    }
    if (failure.get() != null) {
      throw failure.get();
    }
  }

  private static void takeTurns(int turns, int turnMs) throws InterruptedException {
    Thread.sleep(WARM_UP_S * 1000L);
    for (int left = turns; left > 0; left--) {
      isShort = left % 2 == 0;
      Thread.sleep(2 * LONGEST_BACK_OFF_MS); // who sleeps since before
      long begin = System.nanoTime();
      long committed = COMMITTED.sum();
      long failed = FAILED.sum();
      Thread.sleep(turnMs);
      say(begin, committed, failed);
    }
    endNs = System.nanoTime();
  }

  private static void measure(Thread[] clients, boolean isWatched) throws InterruptedException {
    long begin = System.nanoTime();
    if (isWatched) {
      Thread.sleep((endNs - begin) / 1_000_000); // line: watched
    }
    for (Thread client : clients) {
      client.join();
    }
    say(begin, 0, 0);
  }

  private static void say(long begin, long committed, long failed) {
    System.out.printf(
        Locale.ROOT,
        "{\"program\": \"backoff\", \"short\": %b, \"transactions\": %d, \"failed\": %d, \"wall_ns\": %d}%n",
        isShort, COMMITTED.sum() - committed, FAILED.sum() - failed, System.nanoTime() - begin);
    System.out.flush();
  }

  private static void client(int seed, int warehouses, AtomicReference<Exception> failure) {
    SplittableRandom random = new SplittableRandom(1000 + seed);
    try (Tpcc client = new Tpcc(URL, warehouses)) {
      for (int done = 0; done < most && System.nanoTime() < endNs; done++) {
        carryOut(client, random);
        committed();
      }
    } catch (Exception e) {
      failure.compareAndSet(null, e);
    }
  }

  private static void carryOut(Tpcc client, SplittableRandom random) throws SQLException, InterruptedException {
    long seed = random.nextLong();
    while (true) {
      try {
        client.transaction(seed);
        return;
      } catch (SQLException e) {
        client.undo();
        FAILED.increment();
        backOff(1 + random.nextInt(LONGEST_BACK_OFF_MS));
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
