import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;

/** A Java agent that never comes back from looking at headway's own class when that is retransformed, like one that waits for a lock. */
public class HoldingTransformer {
  public static void premain(String arguments, Instrumentation instrumentation) {
    instrumentation.addTransformer(
        new ClassFileTransformer() {
          @Override
          public byte[] transform(ClassLoader loader, String name, Class<?> type, ProtectionDomain domain, byte[] bytes) {
            if (type != null && name.startsWith("java/lang/HeadwayCount")) {
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
