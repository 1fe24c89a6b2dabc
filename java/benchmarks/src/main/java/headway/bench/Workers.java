package headway.bench;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

/** Splits work over a number of threads that does not depend on the machine. */
final class Workers {
  private Workers() {}

  /** What a worker does with one piece of work. */
  interface Piece {
    void run(int worker, int item) throws Exception;
  }

  /** Runs {@code piece} for items 0..items-1 on {@code threads} threads; each takes the next free item. */
  static void run(int threads, int items, Piece piece) throws Exception {
    AtomicInteger next = new AtomicInteger();
    AtomicReference<Exception> failure = new AtomicReference<>();
    Thread[] workers = new Thread[threads];
    for (int w = 0; w < threads; w++) {
      int worker = w;
      workers[w] =
          new Thread(
              () -> {
                try {
                  for (int item = next.getAndIncrement(); item < items; item = next.getAndIncrement()) {
                    piece.run(worker, item);
                  }
                } catch (Exception e) {
                  failure.compareAndSet(null, e);
                }
              },
              "worker-" + (w + 1));
      workers[w].start();
    }
    for (Thread worker : workers) {
      worker.join();
    }
    if (failure.get() != null) {
      throw failure.get();
    }
  }
}
