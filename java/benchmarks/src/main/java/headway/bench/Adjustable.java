package headway.bench;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A program whose locks, sleeps, computing and garbage are parameters, so that a change that was predicted can really be made.
 * {@code Adjustable NAME=NUMBER...}: {@code threads} (4) that each do so many {@code rounds} (100) of {@code parse} (a computation),
 * {@code sleep} (ms), {@code held} (with a lock), {@code after} (without it) and {@code garbage} (bytes that live for some rounds).
 * Computations are in steps of about a microsecond. {@code locks} (1) are shared, one at random in each round; 0: each thread
 * has its own.
 */
public final class Adjustable {
  private static final int KEPT = 64;
  private static volatile double sink;

  private Adjustable() {}

  public static void main(String[] args) throws InterruptedException {
    Map<String, Integer> given = new HashMap<>();
    for (String each : args) {
      given.put(each.substring(0, each.indexOf('=')), Integer.parseInt(each.substring(each.indexOf('=') + 1)));
    }
    int count = given.getOrDefault("threads", 4);
    int shared = given.getOrDefault("locks", 1);
    ReentrantLock[] locks = new ReentrantLock[shared > 0 ? shared : count];
    for (int i = 0; i < locks.length; i++) {
      locks[i] = new ReentrantLock();
    }
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      int number = i;
      threads.add(new Thread(() -> work(given, locks, shared > 0 ? -1 : number, number), "worker-" + i));
      threads.get(i).start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
  }

  private static void work(Map<String, Integer> given, ReentrantLock[] locks, int own, int seed) {
    SplittableRandom random = new SplittableRandom(seed);
    List<byte[]> kept = new ArrayList<>();
    for (int round = given.getOrDefault("rounds", 100); round > 0; round--) {
      parse(given.getOrDefault("parse", 0));
      rest(given.getOrDefault("sleep", 0));
      share(locks[own >= 0 ? own : random.nextInt(locks.length)], given.getOrDefault("held", 0));
      compute(given.getOrDefault("after", 0));
      litter(kept, round % KEPT, given.getOrDefault("garbage", 0));
    }
  }

  /** Computes itself: samples that are taken in it are in none that it calls. */
  private static void parse(int steps) {
    double x = 2;
    for (int i = 0; i < steps * 250; i++) {
      x = x * 1.0000001 + 1e-9;
    }
    sink = x > 1e100 ? 1 : x;
  }

  static void rest(int millis) {
    if (millis == 0) {
      return;
    }
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void share(ReentrantLock lock, int steps) {
    if (steps == 0) {
      return;
    }
    lock.lock();
    try {
      compute(steps);
    } finally {
      lock.unlock();
    }
  }

  private static void litter(List<byte[]> kept, int place, int bytes) {
    for (int left = bytes; left > 0; left -= 1 << 16) {
      byte[] each = new byte[Math.min(left, 1 << 16)];
      if (place < kept.size()) {
        kept.set(place, each);
      } else {
        kept.add(each);
      }
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
