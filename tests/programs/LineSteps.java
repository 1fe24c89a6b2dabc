import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.SynchronousQueue;
import sun.misc.Unsafe;

/**
 * Writes to fields and elements by a schedule, one write at a time, each by the thread it names, and says where in memory each
 * object is at that moment: "wrote STEP OBJECT-ADDRESS OFFSET". Then threads write to elements of one array, each to its own, all
 * at once.
 *
 * <p>LineSteps FILE RACERS RACES STRIDE. A line of the file: thread, object, field. Objects are as they are called: pair..., padded...,
 * child..., longs..., bytes..., texts...; of arrays the field is an index. "gc" in place of a thread collects.
 */
public class LineSteps {
  static class Pair {
    long a;
    int b;
    byte c;
    boolean d;
    String e;
  }

  static class Padded {
    long a;
    long p00, p01, p02, p03, p04, p05, p06, p07, p08, p09, p10, p11, p12, p13, p14, p15;
    long b;
  }

  static class Child extends Pair {
    double a; // hides Pair's
  }

  /** The code whose writes are watched. */
  static class Work {
    static void write(Object object, String field) {
      if (object instanceof long[]) {
        ((long[]) object)[Integer.parseInt(field)]++;
      } else if (object instanceof byte[]) {
        ((byte[]) object)[Integer.parseInt(field)] = 1;
      } else if (object instanceof String[]) {
        ((String[]) object)[Integer.parseInt(field)] = field;
      } else if (object instanceof Padded) {
        writePadded((Padded) object, field);
      } else if (object instanceof Child && field.equals("own")) {
        ((Child) object).a += 1;
      } else {
        writePair((Pair) object, field);
      }
    }

    static void writePadded(Padded padded, String field) {
      if (field.equals("a")) {
        padded.a++;
      } else {
        padded.b++;
      }
    }

    static void writePair(Pair pair, String field) {
      switch (field) {
        case "a": pair.a++; break;
        case "b": pair.b++; break;
        case "c": pair.c++; break;
        case "d": pair.d = !pair.d; break;
        default: pair.e = field; break;
      }
    }

    static void race(long[] longs, int at, int times) {
      for (int i = 0; i < times; i++) {
        longs[at]++;
      }
    }

    static void fails(long[] longs, Pair pair) {
      try {
        longs[longs.length] = 1;
      } catch (ArrayIndexOutOfBoundsException expected) {
        try {
          pair.a = 1;
        } catch (NullPointerException none) {
          return;
        }
      }
      throw new AssertionError();
    }
  }

  static final Unsafe UNSAFE = unsafe();

  static Unsafe unsafe() {
    try {
      Field field = Unsafe.class.getDeclaredField("theUnsafe");
      field.setAccessible(true);
      return (Unsafe) field.get(null);
    } catch (ReflectiveOperationException e) {
      throw new AssertionError(e);
    }
  }

  /** With uncompressed references: where the object is. */
  static long addressOf(Object object) {
    Object[] holder = {object};
    if (UNSAFE.arrayIndexScale(Object[].class) != 8) {
      return (UNSAFE.getInt(holder, (long) UNSAFE.arrayBaseOffset(Object[].class)) & 0xFFFFFFFFL) << Integer.getInteger("shift", 0);
    }
    return UNSAFE.getLong(holder, (long) UNSAFE.arrayBaseOffset(Object[].class));
  }

  static long offsetOf(Object object, String field) throws NoSuchFieldException {
    Class<?> type = object.getClass();
    if (type.isArray()) {
      return UNSAFE.arrayBaseOffset(type) + (long) Integer.parseInt(field) * UNSAFE.arrayIndexScale(type);
    }
    boolean isOwn = field.equals("own");
    Class<?> declaring = isOwn ? Child.class : type == Child.class ? Pair.class : type;
    return UNSAFE.objectFieldOffset(declaring.getDeclaredField(isOwn ? "a" : field));
  }

  static Object made(String name) {
    if (name.startsWith("longs")) return new long[40];
    if (name.startsWith("bytes")) return new byte[300];
    if (name.startsWith("texts")) return new String[40];
    if (name.startsWith("padded")) return new Padded();
    return name.startsWith("child") ? new Child() : new Pair();
  }

  static class Hand extends Thread {
    final SynchronousQueue<Runnable> work = new SynchronousQueue<>();
    final SynchronousQueue<String> done = new SynchronousQueue<>();

    Hand(String name) {
      super(name);
    }

    @Override
    public void run() {
      try {
        for (Runnable next = work.take(); next != END; next = work.take()) {
          next.run();
          done.put("");
        }
      } catch (InterruptedException e) {
        throw new AssertionError(e);
      }
    }

    void does(Runnable what) throws InterruptedException {
      work.put(what);
      done.take();
    }
  }

  static final Runnable END = () -> {};

  public static void main(String[] args) throws Exception {
    Map<String, Object> objects = new LinkedHashMap<>();
    Map<String, Hand> hands = new LinkedHashMap<>();
    StringBuilder out = new StringBuilder();
    int number = 0;
    TreeSet<String> names = new TreeSet<>();
    List<String> lines = Files.readAllLines(Path.of(args[0]));
    for (String line : lines) {
      if (!line.startsWith("gc")) names.add(line.split(" ")[1]);
    }
    String[] all = names.toArray(new String[0]);
    Object[] made = new Object[all.length];
    for (int i = 0; i < all.length; i++) made[i] = made(all[i]); // nothing between them
    for (int i = 0; i < all.length; i++) objects.put(all[i], made[i]);
    for (String line : lines) {
      String[] step = line.split(" ");
      int now = number++;
      if (step[0].equals("gc")) {
        System.gc();
        continue;
      }
      Object object = objects.get(step[1]);
      Hand hand = hands.get(step[0]);
      if (hand == null) {
        hands.put(step[0], hand = new Hand(step[0]));
        hand.start();
      }
      hand.does(() -> Work.write(object, step[2]));
      out.append("wrote ").append(now).append(' ').append(addressOf(object)).append(' ').append(offsetOf(object, step[2])).append('\n');
    }
    for (Hand hand : hands.values()) {
      hand.work.put(END);
      hand.join();
    }
    race(Integer.parseInt(args[1]), Integer.parseInt(args[2]), Integer.parseInt(args[3]));
    Work.fails(new long[2], null);
    System.out.print(out);
  }

  static void race(int racers, int times, int stride) throws InterruptedException {
    long[] longs = new long[32 + racers * stride + 32];
    CountDownLatch all = new CountDownLatch(racers);
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < racers; i++) {
      int at = 32 + i * stride;
      Thread racer = new Thread(() -> {
        all.countDown();
        try {
          all.await();
        } catch (InterruptedException e) {
          throw new AssertionError(e);
        }
        Work.race(longs, at, times);
      }, "racer-" + i);
      threads.add(racer);
      racer.start();
    }
    for (Thread each : threads) {
      each.join();
    }
  }
}
