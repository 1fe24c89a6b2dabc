import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;

/**
 * A Java agent that never comes back from looking at a class that is retransformed, like one that waits for a lock. Its option is
 * how names of such classes begin; without one headway's own are meant.
 */
public class HoldingTransformer {
  public static void premain(String arguments, Instrumentation instrumentation) {
    String names = arguments == null ? "java/lang/HeadwayCount" : arguments;
    instrumentation.addTransformer(
        new ClassFileTransformer() {
          @Override
          public byte[] transform(ClassLoader loader, String name, Class<?> type, ProtectionDomain domain, byte[] bytes) {
            if (type != null && name.startsWith(names)) {
              holdForEver();
            }
            return null;
          }
        },
        true);
  }

  private static void holdForEver() {
    System.out.println("held");
    while (true) {
      try {
        Thread.sleep(1000);
      } catch (InterruptedException error) {
        // it is to be held all the same
      }
    }
  }
}
