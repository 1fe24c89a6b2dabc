import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;

/**
 * Reads and writes fields and array elements a known number of times, by threads and classes, and says how often, a line each:
 * {@code THREAD CLASS TUPLE_READS TUPLE_WRITES ARRAY_READS ARRAY_WRITES STATIC_READS STATIC_WRITES}. The classes that do it have no
 * other code. {@code AccessCounts ROUNDS [wait|exit]}: {@code wait} for the end of the standard input at the end, or {@code exit}
 * while a daemon thread waits within a loop.
 */
public class AccessCounts {
  static class Node {
    int a;
    volatile long b;
    Node next;
  }

  /** Fields: of several types, of an object that another field leads to, and both at once. */
  static class Fields {
    static void run(Node node, int rounds) {
      for (int i = 0; i < rounds; i++) {
        node.a = node.a + 1; // read, write
        node.next.b++; // read, read, write
        node.next.next.next = node; // read, read, write
      }
    }
  }

  /** Elements of arrays of all types. */
  static class Elements {
    static int run(int rounds) {
      byte[] bytes = new byte[8];
      boolean[] booleans = new boolean[8];
      char[] chars = new char[8];
      short[] shorts = new short[8];
      int[] ints = new int[8];
      long[] longs = new long[8];
      float[] floats = new float[8];
      double[] doubles = new double[8];
      Object[][] objects = new Object[8][8];
      int sum = 0;
      for (int i = 0; i < rounds; i++) {
        int at = i & 7;
        bytes[at]++;
        booleans[at] = !booleans[at];
        chars[at]++;
        shorts[at]++;
        ints[at]++;
        longs[at]++;
        floats[at]++;
        doubles[at]++;
        objects[at][at] = objects; // a read of an array, a write of an element
        sum += objects.length;
      }
      for (int each : ints) sum += each; // eight reads
      return sum;
    }
  }

  /** Static fields, which are no objects'. */
  static class Statics {
    static int count;
    static volatile long total;

    static void run(int rounds) {
      for (int i = 0; i < rounds; i++) {
        count++;
        total += i;
      }
    }
  }

  enum Colour { RED, GREEN, BLUE }

  /** Jumps of all kinds around accesses. */
  static class Branches {
    static int run(Node node, int[] values, int rounds) {
      int sum = 0;
      for (int i = 0; i < rounds; i++) {
        if (i % 2 == 0) {
          node.a++; // rounds / 2 reads, writes
        } else if (i % 4 == 1) {
          continue;
        }
        switch (i % 4) { // of 0, 2, 3
          case 0:
            sum += node.a; // a quarter: read
          case 1:
            sum += values[0]; // a quarter: read
            break;
          case 2:
            values[1] = i; // a quarter: write
            break;
          default:
            sum += i % 3 == 0 ? values[2] : node.a; // a third of a quarter; the rest
        }
        do {
          sum += values[3]; // two for each of three quarters
        } while (++sum % 2 == 0 && nothing());
      }
      return sum;
    }

    private static boolean nothing() {
      return false;
    }
  }

  /** Locks, and what is executed on the way out. */
  static class Guarded {
    static synchronized int run(Node node, int rounds) {
      int sum = 0;
      for (int i = 0; i < rounds; i++) {
        synchronized (node) {
          node.a++; // read, write
        }
        try {
          if (i % 2 == 0) throw new IllegalStateException();
          sum += node.a; // half: read
        } catch (IllegalStateException expected) {
          node.a = 1; // half: write
        } finally {
          node.a = 2; // write
        }
      }
      return sum;
    }
  }

  /** Accesses that fail: what stands before them in their piece of code is not counted, what stands before a call is. */
  static class Failing {
    static int run(Node node, int[] values, int rounds) {
      int failed = 0;
      for (int i = 0; i < rounds; i++) {
        try {
          node.a = i; // write, and then a call
          call();
          node.a = values[8]; // fails
        } catch (ArrayIndexOutOfBoundsException expected) {
          failed++;
        }
        try {
          node.next.a = 1; // the first of two reads, then it fails
        } catch (NullPointerException expected) {
          failed++;
        }
      }
      return failed;
    }

    private static void call() {}
  }

  static class Base {
    final int base;

    Base(int base) {
      this.base = base;
    }
  }

  /** Constructors: fields that are set before and behind the call of another one. */
  static class Made {
    static int run(int rounds) {
      int sum = 0;
      for (int i = 0; i < rounds; i++) {
        int captured = i;
        class Local extends Base {
          final int own;

          Local(int given) {
            super(given > 3 ? given : -given);
            own = given + captured; // the compiler sets the captured one before, and reads it here
          }
        }
        sum += new Local(i).own; // a read here
      }
      return sum;
    }
  }

  record Point(int x, int y) {}

  interface Shape {
    int SIDES = Integer.parseInt("4");

    default int sides() {
      return SIDES;
    }
  }

  /** An enum, a record, an interface with a field, a lambda. */
  static class Kinds implements Shape {
    int field;

    static int run(Kinds kinds, int rounds) {
      int sum = 0;
      for (int i = 0; i < rounds; i++) {
        Point point = new Point(i, i);
        IntSupplier supplier = () -> kinds.field++; // read, write
        sum += point.x() + supplier.getAsInt() + kinds.sides();
        sum += of(Colour.GREEN);
      }
      return sum;
    }

    static int of(Colour colour) {
      return switch (colour) { // the compiler's table: a static field of another class, and an element
        case RED -> 1;
        case GREEN -> 2;
        case BLUE -> 3;
      };
    }
  }

  /** Waits within the loop until the JVM ends. */
  static class Daemon {
    static void run(Node node, int rounds) {
      for (int i = 0; ; i++) {
        if (i == rounds) waitForEver();
        node.a = i;
      }
    }

    private static void waitForEver() {
      synchronized (AccessCounts.class) {
        isWaiting = true;
        AccessCounts.class.notifyAll();
      }
      while (true) {
        try {
          Thread.sleep(1000);
        } catch (InterruptedException ignored) {
          continue;
        }
      }
    }
  }

  static boolean isWaiting;
  static final List<String> lines = new ArrayList<>();

  static synchronized void say(String thread, String type, long... counts) {
    StringBuilder line = new StringBuilder(thread + " AccessCounts$" + type);
    for (long count : counts) line.append(' ').append(count);
    lines.add(line.toString());
  }

  static Node node() {
    Node node = new Node();
    node.next = new Node();
    node.next.next = new Node();
    return node;
  }

  static void all(String thread, long n) {
    int rounds = (int) n;
    Fields.run(node(), rounds);
    say(thread, "Fields", 5 * n, 3 * n, 0, 0, 0, 0);
    Elements.run(rounds);
    say(thread, "Elements", 0, 0, 9 * n + 8, 9 * n, 0, 0);
    Statics.run(rounds);
    say(thread, "Statics", 0, 0, 0, 0, 2 * n, 2 * n);
    Branches.run(new Node(), new int[8], rounds);
    long quarter = n / 4, threes = 0;
    for (int i = 3; i < n; i += 4) threes += i % 3 == 0 ? 1 : 0;
    say(thread, "Branches", 2 * quarter + quarter + quarter - threes, 2 * quarter, quarter + threes + 3 * quarter, quarter, 0, 0);
    Guarded.run(new Node(), rounds);
    say(thread, "Guarded", n + n / 2, n + n / 2 + n, 0, 0, 0, 0);
    Failing.run(new Node(), new int[8], rounds);
    say(thread, "Failing", 0, n, 0, 0, 0, 0);
    Made.run(rounds);
    say(thread, "Made", n, 0, 0, 0, 0, 0);
    say(thread, "Made$1Local", n, 2 * n, 0, 0, 0, 0);
    say(thread, "Base", 0, n, 0, 0, 0, 0);
    Kinds.run(new Kinds(), rounds);
    say(thread, "Kinds", n, n, n, 0, 2 * n, 0);
    say(thread, "Point", n, 2 * n, 0, 0, 0, 0);
    say(thread, "Shape", 0, 0, 0, 0, n, 0);
  }

  static Thread virtual(Runnable work) throws ReflectiveOperationException {
    return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, work);
  }

  public static void main(String[] args) throws Exception {
    int rounds = Integer.parseInt(args[0]);
    Shape.class.getMethod("sides").invoke(new Kinds()); // its initialiser belongs to main
    say("main", "Shape", 0, 0, 0, 0, 1, 1);
    Kinds.of(Colour.RED);
    say("main", "Kinds", 0, 0, 1, 0, 1, 0);
    List<Thread> threads = new ArrayList<>();
    for (int i = 1; i <= 3; i++) {
      String name = "worker-" + i;
      int own = rounds / i / 4 * 4;
      threads.add(new Thread(() -> all(name, own), name));
    }
    for (int i = 0; i < 50; i++) threads.add(new Thread(() -> Fields.run(node(), 10), "short"));
    say("short", "Fields", 50 * 50, 50 * 30, 0, 0, 0, 0);
    for (Thread each : threads) each.start();
    for (Thread each : threads) each.join();
    if (Runtime.version().feature() >= 21) {
      List<Thread> virtual = new ArrayList<>();
      for (int i = 0; i < 40; i++) {
        virtual.add(virtual(() -> {
          Fields.run(node(), rounds / 100);
          Thread.yield();
          Fields.run(node(), rounds / 100);
        }));
      }
      for (Thread each : virtual) each.join();
      long n = 80L * (rounds / 100);
      say("virtual", "Fields", 5 * n, 3 * n, 0, 0, 0, 0);
    }
    Thread daemon = new Thread(() -> Daemon.run(new Node(), rounds), "daemon");
    daemon.setDaemon(true);
    daemon.start();
    synchronized (AccessCounts.class) {
      while (!isWaiting) AccessCounts.class.wait();
    }
    say("daemon", "Daemon", 0, rounds, 0, 0, 0, 1);
    lines.forEach(System.out::println);
    System.out.println("end");
    if (args.length > 1 && args[1].equals("wait")) while (System.in.read() >= 0) {}
    if (args.length > 1 && args[1].equals("exit")) System.exit(3);
  }
}
