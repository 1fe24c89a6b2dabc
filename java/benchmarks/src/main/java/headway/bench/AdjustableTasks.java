package headway.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * A program whose thread pool, queue or parallel stages have their size as a parameter, so that a change that was predicted can
 * really be made. {@code pool WORKERS TASKS PAUSE_MS}: so many tasks, one submitted after each pause, that each wait 20 to 60 ms
 * for something outside and compute; {@code queue ROOM BURSTS}: a thread puts 20 elements in a bounded queue and pauses, another
 * one computes for each; {@code stages MOST ROUNDS}: four threads that meet at a barrier after each round, of which one does MOST
 * percent of the work. Computations are in steps of about a microsecond.
 */
public final class AdjustableTasks {
  private static final int BURST = 20;
  private static final int PARTIES = 4;
  private static volatile double sink;

  private AdjustableTasks() {}

  public static void main(String[] args) throws Exception {
    int size = Integer.parseInt(args[1]);
    int count = Integer.parseInt(args[2]);
    switch (args[0]) {
      case "pool" -> pool(size, count, Integer.parseInt(args[3]));
      case "queue" -> queue(size, count);
      case "stages" -> stages(size, count);
      default -> throw new IllegalArgumentException(args[0]);
    }
  }

  private static void pool(int workers, int tasks, int pause) throws InterruptedException, ExecutionException {
    ExecutorService pool = Executors.newFixedThreadPool(workers);
    List<Future<?>> all = new ArrayList<>();
    for (int i = 0; i < tasks; i++) {
      Adjustable.rest(pause);
      int millis = 20 + i % 3 * 20;
      all.add(pool.submit(() -> {
        Adjustable.rest(millis);
        compute(2000);
      }));
    }
    for (Future<?> each : all) {
      each.get();
    }
    pool.shutdown();
  }

  private static void queue(int room, int bursts) throws InterruptedException {
    BlockingQueue<Integer> queue = new ArrayBlockingQueue<>(room);
    Thread maker = new Thread(() -> make(queue, bursts), "maker");
    maker.start();
    for (int i = 0; i < bursts * BURST; i++) {
      queue.take();
      compute(2000);
    }
    maker.join();
  }

  private static void make(BlockingQueue<Integer> queue, int bursts) {
    for (int i = 0; i < bursts * BURST; i++) {
      if (i % BURST == 0) {
        Adjustable.rest(30);
      }
      try {
        queue.put(i);
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    }
  }

  private static void stages(int most, int rounds) throws InterruptedException {
    CyclicBarrier barrier = new CyclicBarrier(PARTIES);
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < PARTIES; i++) {
      int percent = i == 0 ? most : (100 - most) / (PARTIES - 1);
      threads.add(new Thread(() -> takePart(barrier, percent, rounds), "party-" + i));
      threads.get(i).start();
    }
    for (Thread each : threads) {
      each.join();
    }
  }

  private static void takePart(CyclicBarrier barrier, int percent, int rounds) {
    try {
      for (int i = 0; i < rounds; i++) {
        compute(200 * percent);
        barrier.await();
      }
    } catch (InterruptedException | BrokenBarrierException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void compute(int steps) {
    double x = 1;
    for (int i = 0; i < steps * 250; i++) {
      x = x * 1.0000001 + 1e-9;
    }
    sink = x > 1e100 ? 1 : x;
  }
}
