import java.util.concurrent.CountDownLatch;

/** Threads that wait for objects that stand for classes: of a static synchronized method, of a nested class, of an array's type. */
public final class ClassObjects {
  static final class Nested {}

  static synchronized void method() throws InterruptedException {
    Thread.sleep(100);
  }

  static void block(Class<?> type) throws InterruptedException {
    synchronized (type) {
      Thread.sleep(100);
    }
  }

  interface Step {
    void run() throws InterruptedException;
  }

  /** Lets two threads take a step at once. */
  static void both(Step step) throws InterruptedException {
    CountDownLatch ready = new CountDownLatch(2);
    Thread[] threads = new Thread[2];
    for (int i = 0; i < threads.length; i++) {
      threads[i] =
          new Thread(
              () -> {
                try {
                  ready.countDown();
                  ready.await();
                  step.run();
                } catch (InterruptedException e) {
                  throw new IllegalStateException(e);
                }
              });
      threads[i].start();
    }
    for (Thread each : threads) each.join();
  }

  public static void main(String[] args) throws InterruptedException {
    both(ClassObjects::method);
    both(() -> block(Nested.class));
    both(() -> block(int[].class));
  }
}
