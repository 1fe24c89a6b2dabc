package headway.bench;

import java.sql.SQLException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;

/**
 * A server on H2 in memory: clients put requests into a bounded queue and wait for the answer; workers take them and carry out
 * one transaction each. So threads park all the time, as a server's do. An item is 50 requests.
 *
 * <p>Each worker has a warehouse of its own, so that no transaction fails. Each run has the same transactions, in the tables that the
 * one before has left.
 */
final class OrderServer implements Program {
  private static final int CAPACITY = 64;
  private static final int CLIENTS_PER_WORKER = 4;
  private static final int REQUESTS_PER_ITEM = 50;

  /** What a worker carries transactions out with. */
  private interface Desk {
    void carryOut(long seed) throws SQLException;
  }

  /** Opens the desk of worker {@code number}, from 1, with the tables that it wants. */
  private interface Desks {
    Desk open(int number, int workers) throws SQLException;
  }

  private static final class Request extends CompletableFuture<Boolean> {
    private final long seed;

    private Request(long seed) {
      this.seed = seed;
    }
  }

  private final BlockingQueue<Request> queue = new ArrayBlockingQueue<>(CAPACITY);
  private final Desks desks;

  private OrderServer(Desks desks) {
    this.desks = desks;
  }

  /** Two small transactions in turn, a new order and a payment ({@link Orders}). */
  static OrderServer small() {
    String url = "jdbc:h2:mem:orders;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=60000";
    return new OrderServer(
        (number, workers) -> {
          if (number == 1) {
            Orders.create(url, workers);
          }
          Orders orders = new Orders(url, number, workers);
          return seed -> orders.transaction(number, seed % 2 == 0);
        });
  }

  /** The five transactions of TPC-C in its mix ({@link Tpcc}), with a database for each warehouse. */
  static OrderServer tpcc() {
    return new OrderServer(
        (number, workers) -> {
          String url = "jdbc:h2:mem:tpcc" + number + ";DB_CLOSE_DELAY=-1";
          TpccTables.create(url, 1);
          return new Tpcc(url, 1)::transaction;
        });
  }

  @Override
  public void prepare(int threads, int items) throws Exception {
    for (int number = 1; number <= threads; number++) {
      Desk desk = desks.open(number, threads);
      Thread worker = new Thread(() -> serve(desk), "worker-" + number);
      worker.setDaemon(true); // it waits for requests until the program ends
      worker.start();
    }
  }

  @Override
  public void run(int threads, int items) throws Exception {
    Workers.run(threads * CLIENTS_PER_WORKER, items, (client, item) -> request(item));
  }

  private void request(int item) throws Exception {
    for (int i = 0; i < REQUESTS_PER_ITEM; i++) {
      Request request = new Request((long) item * REQUESTS_PER_ITEM + i);
      queue.put(request);
      request.get();
    }
  }

  private void serve(Desk desk) {
    try {
      while (true) {
        Request request = queue.take();
        try {
          desk.carryOut(request.seed);
          request.complete(true);
        } catch (Exception e) {
          request.completeExceptionally(e);
        }
      }
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
