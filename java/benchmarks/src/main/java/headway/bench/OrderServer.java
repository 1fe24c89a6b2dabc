package headway.bench;

import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;

/**
 * A server of orders, on H2 in memory: clients put requests into a bounded queue and wait for the answer; workers take them and
 * carry out one transaction each, a new order and a payment in turn ({@link Orders}). So threads park all the time, as a server's
 * do. An item is 50 requests.
 */
final class OrderServer implements Program {
  private static final String URL = "jdbc:h2:mem:orders;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=60000";
  private static final int CAPACITY = 64;
  private static final int CLIENTS_PER_WORKER = 4;
  private static final int REQUESTS_PER_ITEM = 50;

  private final BlockingQueue<CompletableFuture<Boolean>> queue = new ArrayBlockingQueue<>(CAPACITY);

  @Override
  public void prepare(int threads, int items) throws Exception {
    Orders.create(URL, threads);
    for (int i = 0; i < threads; i++) {
      // Each worker has a warehouse of its own, so that no transaction fails: the work does not depend on who comes first.
      int warehouse = i + 1;
      Orders orders = new Orders(URL, warehouse, threads);
      Thread worker = new Thread(() -> serve(orders, warehouse), "worker-" + warehouse);
      worker.setDaemon(true); // it waits for requests until the program ends
      worker.start();
    }
  }

  @Override
  public void run(int threads, int items) throws Exception {
    Workers.run(threads * CLIENTS_PER_WORKER, items, (client, item) -> request());
  }

  private void request() throws Exception {
    for (int i = 0; i < REQUESTS_PER_ITEM; i++) {
      CompletableFuture<Boolean> answer = new CompletableFuture<>();
      queue.put(answer);
      answer.get();
    }
  }

  private void serve(Orders orders, int warehouse) {
    try {
      for (boolean isOrder = true; ; isOrder = !isOrder) {
        CompletableFuture<Boolean> answer = queue.take();
        try {
          orders.transaction(warehouse, isOrder);
          answer.complete(true);
        } catch (Exception e) {
          answer.completeExceptionally(e);
        }
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
