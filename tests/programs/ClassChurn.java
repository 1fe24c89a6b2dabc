import java.lang.invoke.MethodHandles;
import java.lang.management.ManagementFactory;

/**
 * Loads one class again and again, in loaders that are garbage at once and as hidden classes, and makes one object of each; then says
 * how many objects those were, and how many classes have been unloaded: {@code ClassChurn LOADERS}.
 */
public class ClassChurn {
  static volatile Object sink;

  /** A class whose objects are counted; the program itself makes none of the one that it has. */
  public static class Loaded {
    int value;
  }

  static class Once extends ClassLoader {
    Class<?> define(byte[] file) {
      return defineClass(null, file, 0, file.length);
    }
  }

  public static void main(String[] args) throws Exception {
    int loaders = Integer.parseInt(args[0]);
    byte[] file;
    try (var in = ClassChurn.class.getResourceAsStream("ClassChurn$Loaded.class")) {
      file = in.readAllBytes();
    }
    for (int i = 0; i < loaders; i++) {
      sink = new Once().define(file).getDeclaredConstructor().newInstance();
      sink = MethodHandles.lookup().defineHiddenClass(file, true).lookupClass().getDeclaredConstructor().newInstance();
    }
    sink = null;
    System.gc();
    System.gc();
    System.out.println("main ClassChurn$Loaded " + 2 * loaders + " 0");
    System.out.println("unloaded bytes " + ManagementFactory.getClassLoadingMXBean().getUnloadedClassCount());
  }
}
