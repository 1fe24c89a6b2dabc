import java.io.IOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.ArrayBlockingQueue;

/**
 * Six threads take turns at a pool of one connection, and sleep while they have it: until a signal comes, or for so many ms.
 *
 * <p>Keeps in a file, whoever ends it: System.nanoTime() when each thread had had the connection, how often they have slept
 * from then on, and when they did so last. The time is counted from then on, too.
 */
public final class OneConnection {
  private static final int WORKERS = 6, SLEEP_MS = 5;
  private static final int BEGIN = 0, SLEEPS = 8, LAST = 16, BYTES = 24;
  private static final ArrayBlockingQueue<Object> POOL = new ArrayBlockingQueue<>(1, true);

  private OneConnection() {}

  public static void main(String[] arguments) throws InterruptedException, IOException {
    long workNs = Long.parseLong(arguments[0]) * 1_000_000;
    MappedByteBuffer notes;
    try (FileChannel file =
        FileChannel.open(
            Path.of(arguments[1]), StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      notes = file.map(FileChannel.MapMode.READ_WRITE, 0, BYTES);
    }
    POOL.add(new Object());
    Thread[] workers = new Thread[WORKERS];
    boolean[] begun = new boolean[WORKERS];
    for (int i = 0; i < WORKERS; i++) {
      int number = i;
      workers[i] = new Thread(() -> work(notes, begun, number, workNs), "worker-" + i);
      workers[i].start();
    }
    for (Thread worker : workers) {
      worker.join();
    }
  }

  private static Object borrow() throws InterruptedException {
    return POOL.take();
  }

  private static void work(MappedByteBuffer notes, boolean[] begun, int number, long workNs) {
    try {
      boolean goesOn = true;
      while (goesOn) {
        Object connection = borrow();
        try {
          begun[number] = true;
          Thread.sleep(SLEEP_MS);
          goesOn = noteSleep(notes, begun) < workNs;
        } finally {
          POOL.add(connection);
        }
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Counts a sleep, with the connection: no other thread does so at the same time. Returns the ns since the begin. */
  private static long noteSleep(MappedByteBuffer notes, boolean[] begun) {
    long beginNs = notes.getLong(BEGIN), nowNs = System.nanoTime();
    if (beginNs != 0) {
      notes.putLong(LAST, nowNs);
      notes.putLong(SLEEPS, notes.getLong(SLEEPS) + 1);
      return nowNs - beginNs;
    }
    for (boolean each : begun) {
      if (!each) {
        return 0;
      }
    }
    notes.putLong(BEGIN, nowNs);
    return 0;
  }
}
