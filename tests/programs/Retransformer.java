import java.lang.instrument.Instrumentation;

/** A Java agent that has the classes of the program AccessCounts retransformed again and again while it runs. */
public class Retransformer {
  public static void premain(String arguments, Instrumentation instrumentation) {
    Thread thread = new Thread(() -> run(instrumentation), "retransformer");
    thread.setDaemon(true);
    thread.start();
  }

  private static void run(Instrumentation instrumentation) {
    while (true) {
      try {
        Class<?>[] loaded = instrumentation.getAllLoadedClasses();
        if (loaded == null) {
          return; // the JVM is ending, and lists no classes any more
        }
        for (Class<?> type : loaded) {
          if (type.getName().startsWith("AccessCounts") && instrumentation.isModifiableClass(type)) {
            instrumentation.retransformClasses(type);
          }
        }
        Thread.sleep(5);
      } catch (Exception error) {
        throw new IllegalStateException(error);
      }
    }
  }
}
