import java.lang.management.ManagementFactory;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/**
 * Allocates known numbers of objects of its own classes in several ways and says them, a line each: {@code THREAD CLASS OBJECTS
 * ARRAY_LENGTH}; and what the JVM says that each thread allocated in all: {@code THREAD bytes BYTES}. {@code ObjectCounts ROUNDS
 * [wait|ask|ask,wait]}: {@code wait} for the end of the standard input then, {@code ask} for a line of it before threads are started.
 */
public class ObjectCounts {
  static volatile Object sink;

  static class Pair implements Cloneable {
    long first, second;

    @Override
    public Pair clone() {
      try {
        return (Pair) super.clone();
      } catch (CloneNotSupportedException impossible) {
        throw new AssertionError(impossible);
      }
    }
  }

  static class Leaf {
    int value;
  }

  record Point(int x, int y) {}

  /** What one thread does, and what it then knows of itself. */
  abstract static class Work extends Thread {
    final int rounds;
    final List<String> lines = new ArrayList<>();
    long bytes;

    Work(String name, int rounds) {
      super(name);
      this.rounds = rounds;
    }

    abstract void work() throws Exception;

    @Override
    public void run() {
      try {
        work();
      } catch (Exception error) {
        throw new IllegalStateException(error);
      }
      var threads = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
      bytes = threads.getThreadAllocatedBytes(getId());
    }

    void say(String type, long objects, long length) {
      lines.add(getName() + " " + type + " " + objects + " " + length);
    }
  }

  /** Compiled code that allocates what its loops say. */
  static class Plain extends Work {
    Plain(String name, int rounds) {
      super(name, rounds);
    }

    @Override
    void work() {
      for (int i = 0; i < rounds; i++) {
        sink = new Pair();
        if (i % 2 == 0) sink = new Leaf();
        if (i % 10 == 0) sink = new Pair[i % 7];
        if (i % 100 == 0) sink = new Leaf[3][4];
        if (i % 1000 == 0) sink = new Leaf[100_000];
      }
      long pairs = 0;
      for (int i = 0; i < rounds; i += 10) pairs += i % 7;
      say("ObjectCounts$Pair", rounds, 0);
      say("ObjectCounts$Leaf", (rounds + 1) / 2, 0);
      say("ObjectCounts$Pair[]", (rounds + 9) / 10, pairs);
      long nested = (rounds + 99) / 100, large = (rounds + 999) / 1000;
      say("ObjectCounts$Leaf[][]", nested, 3 * nested);
      say("ObjectCounts$Leaf[]", 3 * nested + large, 12 * nested + 100_000 * large);
    }
  }

  /** What the JVM and the JDK allocate for a program. */
  static class ByJvm extends Work {
    ByJvm(String name, int rounds) {
      super(name, rounds);
    }

    @Override
    void work() throws Exception {
      Constructor<Leaf> maker = Leaf.class.getDeclaredConstructor();
      Pair one = new Pair();
      Pair[] some = new Pair[5];
      for (int i = 0; i < rounds; i++) {
        sink = one.clone();
        sink = maker.newInstance();
        sink = some.clone();
        sink = Array.newInstance(Point.class, 2);
        int captured = i;
        Supplier<Object> supplier = () -> new Point(captured, captured);
        sink = supplier;
        sink = supplier.get();
      }
      say("ObjectCounts$Pair", rounds + 1, 0);
      say("ObjectCounts$Leaf", rounds, 0);
      say("ObjectCounts$Pair[]", rounds + 1, 5L * (rounds + 1));
      say("ObjectCounts$Point[]", rounds, 2L * rounds);
      say("ObjectCounts$Point", rounds, 0);
      say("ObjectCounts$ByJvm$$Lambda", rounds, 0);
    }
  }

  public static void main(String[] args) throws Exception {
    int rounds = Integer.parseInt(args[0]);
    for (int i = 0; i < 1000; i++) sink = new Point(i, i);  // the main thread, from its first object on
    sink = new Point[1000];
    List<Work> all = List.of(new Plain("plain-1", rounds), new Plain("plain-2", rounds / 2), new ByJvm("jvm", rounds / 4));
    if (args.length > 1 && args[1].contains("ask")) {
      System.out.println("ready");
      System.in.read();
    }
    for (Work each : all) each.start();
    for (Work each : all) each.join();
    System.out.println("main ObjectCounts$Point 1000 0");
    System.out.println("main ObjectCounts$Point[] 1 1000");
    for (Work each : all) {
      each.lines.forEach(System.out::println);
      System.out.println(each.getName() + " bytes " + each.bytes);
    }
    if (args.length > 1 && args[1].contains("wait")) while (System.in.read() >= 0) {}
  }
}
