import java.util.concurrent.locks.ReentrantLock;

/**
 * One thread sleeps alone; then two take turns at a lock, or do not need it: each sleeps in its rounds, with the lock if there is
 * one. Arguments: "lock" or "free", the rounds of each thread (0: for ever), and the ms of a round. Prints when the rounds began
 * and ended (System.nanoTime); of rounds without an end, each second how many all threads have done.
 */
public class LockedRounds {
  static final ReentrantLock LOCK = new ReentrantLock();
  static final java.util.concurrent.atomic.AtomicLong DONE = new java.util.concurrent.atomic.AtomicLong();

  static void round(boolean hasLock, long millis) throws InterruptedException {
    if (hasLock) LOCK.lock();
    try {
      Thread.sleep(millis);
    } finally {
      if (hasLock) LOCK.unlock();
    }
    DONE.incrementAndGet();
    Thread.sleep(0, 100_000);
  }

  static Thread worker(String name, boolean hasLock, int rounds, long millis) {
    Thread worker =
        new Thread(
            () -> {
              try {
                for (int i = 0; rounds == 0 || i < rounds; i++) round(hasLock, millis);
              } catch (InterruptedException e) {
                throw new IllegalStateException(e);
              }
            },
            name);
    worker.start();
    return worker;
  }

  public static void main(String[] args) throws Exception {
    boolean hasLock = args[0].equals("lock");
    int rounds = Integer.parseInt(args[1]);
    long millis = Long.parseLong(args[2]);
    if (rounds > 0) Thread.sleep(500);
    long began = System.nanoTime();
    Thread one = worker("rounds-1", hasLock, rounds, millis);
    Thread other = worker("rounds-2", hasLock, rounds, millis);
    while (rounds == 0) {
      Thread.sleep(1000);
      System.out.println(DONE.get());
    }
    one.join();
    other.join();
    System.out.println(began + " " + System.nanoTime());
  }
}
