import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Threads that take turns as a file says, a step a line: {@code THREAD WHAT OBJECT COUNT}. What: new, array, jdk (an array that the JDK
 * makes), hashed (one of which the program asks for the hash at once), gc, read, write, and the same in a lock (locked-read,
 * locked-write) or in one that has been waited for (waited-read, waited-write). Then RACERS threads write to one object COUNT times
 * each without taking turns: {@code WriterSteps FILE [RACERS COUNT]}. Only class Work has accesses that are meant. Threads whose names
 * begin with "virtual" are virtual ones.
 */
public class WriterSteps {
  static class Thing {
    int a;
  }

  static class Work {
    static Thing thing() {
      return new Thing();
    }

    static int[] array() {
      return new int[4];
    }

    static int read(Object object, int count) {
      int sum = 0;
      if (object instanceof Thing thing) {
        for (int i = 0; i < count; i++) sum += thing.a;
      } else {
        int[] array = (int[]) object;
        for (int i = 0; i < count; i++) sum += array[i & 1];
      }
      return sum;
    }

    static void write(Object object, int count) {
      if (object instanceof Thing thing) {
        for (int i = 0; i < count; i++) thing.a = i;
      } else {
        int[] array = (int[]) object;
        for (int i = 0; i < count; i++) array[i & 1] = i;
      }
    }
  }

  static final Map<String, Object> objects = new HashMap<>();
  static final Object turns = new Object();
  static int next;

  static Object made(String what) {
    switch (what) {
      case "new": return Work.thing();
      case "array": return Work.array();
      default: return "abc".chars().toArray();
    }
  }

  static void use(String how, Object object, int count) {
    if (how.equals("read")) {
      Work.read(object, count);
    } else {
      Work.write(object, count);
    }
  }

  static void step(String what, String name, int count) throws InterruptedException {
    Object object = objects.get(name);
    String how = what.substring(what.indexOf('-') + 1);
    if (what.equals("gc")) {
      System.gc();
    } else if (object == null) {
      objects.put(name, object = made(what));
      if (what.equals("hashed")) System.identityHashCode(object);
    } else if (what.equals(how)) {
      use(how, object, count);
    } else {
      synchronized (object) {
        if (what.startsWith("waited")) object.wait(1); // from here on it is locked in another way
        use(how, object, count);
      }
    }
  }

  static void run(String name, List<String> steps) {
    for (int at = 0; at < steps.size(); at++) {
      String[] parts = steps.get(at).split(" ");
      if (!parts[0].equals(name)) continue;
      synchronized (turns) {
        try {
          while (next != at) turns.wait();
          step(parts[1], parts[2], Integer.parseInt(parts[3]));
        } catch (InterruptedException | RuntimeException e) {
          e.printStackTrace();
          Runtime.getRuntime().halt(1);
        }
        next++;
        turns.notifyAll();
      }
    }
  }

  static Thread started(String name, Runnable run) throws ReflectiveOperationException {
    if (name.startsWith("virtual")) {
      return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, run); // JDK 17 has none
    }
    Thread thread = new Thread(run, name);
    thread.start();
    return thread;
  }

  static void all(Map<String, Runnable> runs) throws Exception {
    List<Thread> threads = new ArrayList<>();
    for (Map.Entry<String, Runnable> each : runs.entrySet()) threads.add(started(each.getKey(), each.getValue()));
    for (Thread each : threads) each.join();
  }

  public static void main(String[] args) throws Exception {
    List<String> steps = Files.readAllLines(Path.of(args[0]));
    Map<String, Runnable> runs = new LinkedHashMap<>();
    for (String step : steps) {
      String name = step.split(" ")[0];
      runs.put(name, () -> run(name, steps));
    }
    all(runs);
    if (args.length == 1) return;
    Object[] shared = {Work.thing(), Work.array()};
    runs.clear();
    int count = Integer.parseInt(args[2]);
    for (int i = 0; i < Integer.parseInt(args[1]); i++) {
      runs.put("racer-" + i, () -> {
        for (Object each : shared) {
          Work.write(each, count);
          Work.read(each, count);
        }
      });
    }
    all(runs);
  }
}
