import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CyclicBarrier;

/**
 * Threads that read and write objects of each other's and of their own a known number of times, with collections in between, and
 * say how often: {@code ACCESSOR OWNER FIELD_READS FIELD_WRITES ELEMENT_READS ELEMENT_WRITES}, a line each; owner ? for objects that
 * the JDK has made. Only class Work and class Node have accesses that are stated: {@code OwnerCounts ROUNDS [hashes]}.
 */
public class OwnerCounts {
  static final int THREADS = 4;

  static class Node {
    int a;
    long b;
    Node next;
  }

  /** One that its constructor writes, before and behind that of its super class. */
  static class Made extends Node implements Cloneable {
    final Object outer;
    final long wide;

    Made(Object outer, long wide) {
      this.outer = outer;
      this.wide = wide;
    }

    Made copy() throws CloneNotSupportedException {
      return (Made) super.clone();
    }
  }

  /** What a thread has made. */
  record Things(Node node, Node locked, Made made, int[] ints, long[] longs, Node[][] grid, double[] copied) {}

  static class Work {
    static Things make() throws CloneNotSupportedException {
      return new Things(new Node(), new Node(), new Made("", 1).copy(), new int[8], new long[8], new Node[4][4], new double[4].clone());
    }

    /** Two reads and two writes of fields each round, four and four of elements. */
    static void use(Node node, int[] ints, long[] longs, Node[][] grid, double[] copied, int rounds) {
      for (int i = 0; i < rounds; i++) {
        node.a = node.a + 1;
        node.b++;
        ints[i & 7]++;
        longs[i & 7] += i;
        copied[i & 3] = i; // only written
        grid[i & 3][i & 3] = node; // a read of one array, a write of another
        if (copied[i & 3] < 0) throw new IllegalStateException();
      }
    }

    /** A read and a write each round, of an object that is locked. */
    static void locked(Node node, int rounds) throws InterruptedException {
      for (int i = 0; i < rounds; i++) {
        synchronized (node) {
          node.a++;
          if (i == rounds / 2) node.wait(1); // from here on it is locked in another way
        }
      }
    }

    static long made(Made made, int rounds) {
      long sum = 0;
      for (int i = 0; i < rounds; i++) sum += made.wide; // a read
      return sum;
    }

    static int read(int[] values, int rounds) {
      int sum = 0;
      for (int i = 0; i < rounds; i++) sum += values[i % values.length]; // a read
      return sum;
    }

    /** New objects by the thousand, each used once: a read and a write of a field, a write of an element. */
    static int churn(int rounds) {
      int sum = 0;
      for (int i = 0; i < rounds; i++) {
        Node node = new Node();
        node.a++;
        byte[] bytes = new byte[16];
        bytes[3] = 1;
        sum += node.hashCode() == 0 || bytes.length == 0 ? 1 : 0;
      }
      return sum;
    }
  }

  static final List<String> lines = new ArrayList<>();
  static final Things[] things = new Things[THREADS];
  static final CyclicBarrier together = new CyclicBarrier(THREADS);
  static boolean withHashes;

  static synchronized void say(String line) {
    lines.add(line);
  }

  static void collect(int number) throws Exception {
    together.await();
    if (number == 0) System.gc();
    together.await();
  }

  static void run(int number, int rounds) throws Exception {
    String me = "worker-" + number;
    things[number] = Work.make();
    int hash = withHashes ? System.identityHashCode(things[number].node) : 0;
    for (int turn = 0; turn < 3; turn++) {
      collect(number);
      for (int owner = 0; owner < THREADS; owner++) {
        Things used = things[owner];
        int n = rounds * (owner + 1) + number;
        Work.use(used.node, used.ints, used.longs, used.grid, used.copied, n);
        Work.locked(used.locked, 100 + number);
        Work.made(used.made, n);
        say(me + " worker-" + owner + " " + (3L * n + 100 + number) + " " + (2L * n + 100 + number) + " " + 4L * n + " " + 4L * n);
      }
      Work.churn(rounds);
      say(me + " " + me + " " + rounds + " " + rounds + " 0 " + rounds);
    }
    if (withHashes && hash != System.identityHashCode(things[number].node)) throw new IllegalStateException("hash");
    int[] fromJdk = "abc".chars().toArray();
    Work.read(fromJdk, rounds);
    say(me + " ? 0 0 " + rounds + " 0");
    // What Made's constructor writes before its super class's, and the clone, which has no constructor.
    say(me + " " + me + " 0 2 0 0");
  }

  static void distinct() {
    Set<Integer> hashes = new HashSet<>();
    for (int i = 0; i < 20_000; i++) hashes.add(System.identityHashCode(new Node()));
    if (hashes.size() < 18_000) throw new IllegalStateException(hashes.size() + " hashes of 20000");
  }

  public static void main(String[] args) throws Exception {
    int rounds = Integer.parseInt(args[0]);
    withHashes = args.length > 1;
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < THREADS; i++) {
      int number = i;
      threads.add(new Thread(() -> {
        try {
          run(number, rounds);
        } catch (Exception e) {
          e.printStackTrace();
          System.exit(1);
        }
      }, "worker-" + i));
    }
    for (Thread each : threads) each.start();
    for (Thread each : threads) each.join();
    distinct();
    lines.forEach(System.out::println);
    System.out.println("end");
  }
}
