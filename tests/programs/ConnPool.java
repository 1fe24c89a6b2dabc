import java.util.concurrent.ArrayBlockingQueue;

/**
 * Sixteen threads share a pool of two connections, each of which is used for 5 ms (no name says that it is a pool); a lock of their own costs next to nothing.
 *
 * <p>Prints how long all threads waited to borrow, by their own clocks, in ns.
 */
public class ConnPool {
  static final ArrayBlockingQueue<Object> FREE = new ArrayBlockingQueue<>(2);
  static final Object TINY = new Object();
  static final java.util.concurrent.atomic.LongAdder BORROWING_NS = new java.util.concurrent.atomic.LongAdder();
  static volatile double sink;

  static Object next() throws InterruptedException {
    return FREE.take();
  }

  static void burn(int us) {
    long end = System.nanoTime() + us * 1000L;
    double x = 1;
    while (System.nanoTime() < end) x = Math.sin(x);
    sink = x;
  }

  static void serve() {
    try {
      for (int round = 0; round < 40; round++) {
        long since = System.nanoTime();
        Object connection = next();
        BORROWING_NS.add(System.nanoTime() - since);
        Thread.sleep(5);
        FREE.add(connection);
        burn(100);
        if (round == 0) {
          synchronized (TINY) {
            burn(200);
          }
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  public static void main(String[] args) throws Exception {
    FREE.add("c1");
    FREE.add("c2");
    Thread[] threads = new Thread[16];
    for (int i = 0; i < threads.length; i++) {
      threads[i] = new Thread(ConnPool::serve, "http-" + i);
      threads[i].start();
    }
    for (Thread thread : threads) thread.join();
    System.out.println(BORROWING_NS.sum());
  }
}
