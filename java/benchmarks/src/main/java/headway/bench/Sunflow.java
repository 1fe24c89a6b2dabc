package headway.bench;

import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.util.Arrays;

/**
 * Sunflow's own benchmark scene (a ray tracer; Debian's package {@code sunflow}). The items are the image's edge in pixels.
 * By reflection: the package is on the class path when it runs, but is not on Maven Central.
 */
final class Sunflow implements Program {
  /** Runs it alone, with nothing else of this folder on the class path: {@code Sunflow THREADS EDGE}. The demo does. */
  public static void main(String[] args) throws Exception {
    new Sunflow().run(Integer.parseInt(args[0]), Integer.parseInt(args[1]));
  }

  @Override
  public void run(int threads, int items) throws Exception {
    Class<?> type = Class.forName("org.sunflow.Benchmark");
    // (resolution, show output, show benchmark output, save output, threads, show window). Debian's package leaves out the
    // reference image that the constructor wants unless it is to save one; then it must not save it after all.
    Object benchmark =
        type.getConstructor(int.class, boolean.class, boolean.class, boolean.class, int.class, boolean.class)
            .newInstance(items, false, false, true, threads, false);
    field(type, "saveOutput").set(benchmark, false);
    try {
      type.getMethod("kernelBegin").invoke(benchmark);
      type.getMethod("kernelMain").invoke(benchmark);
    } catch (InvocationTargetException e) {
      throw new IllegalStateException("sunflow failed", e.getCause());
    }
    int[] image = (int[]) field(type, "validationImage").get(benchmark);
    if (Arrays.stream(image).distinct().count() < 50) {
      throw new IllegalStateException("sunflow painted no picture");
    }
  }

  private static Field field(Class<?> type, String name) throws NoSuchFieldException {
    Field field = type.getDeclaredField(name);
    field.setAccessible(true);
    return field;
  }
}
