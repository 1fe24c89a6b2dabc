package java.lang;

import jdk.internal.access.SharedSecrets;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Hidden;

/**
 * What the counts of reads and writes that headway inserts into classes of the program call
 * (native/agent/objects/accesses.cpp).
 *
 * <p>In package java.lang, because every class loader and every module sees that. Loaded by JNI into the boot loader; the
 * digit in the name counts the copies of the agent's library in one JVM.
 */
public final class HeadwayCount0 {
  // As in access_counters.h: each thread's counters are in a block of its own, before which its key stands.
  private static final long KEY_AT = -(32_768 + 1) * 8L;
  private static final long MASK = (1 << 16) - 1;

  private static final Unsafe U = Unsafe.getUnsafe();
  private static final long THREAD_ID = U.objectFieldOffset(Thread.class, "tid"); // getId() may be overridden
  private static final boolean HAS_CARRIERS = Runtime.version().feature() >= 21;
  private static final long BLOCKS = blocks();

  private HeadwayCount0() {}

  private static native long blocks();

  private static native long find(long key);

  /** Adds 1 to a counter of the calling thread's; only that thread writes there. */
  @ForceInline
  @Hidden
  public static void count(int counter) {
    long key;
    Thread current = Thread.currentThread();
    if (HAS_CARRIERS) {
      // A virtual thread counts in a block of its carrier's, which it can't leave in between.
      Thread carrier = SharedSecrets.getJavaLangAccess().currentCarrierThread();
      long id = U.getLong(carrier, THREAD_ID);
      key = carrier == current ? id : ~id;
    } else {
      key = U.getLong(current, THREAD_ID);
    }
    long block = U.getLong(BLOCKS + ((key & MASK) << 3));
    if (U.getLong(block + KEY_AT) != key) {
      block = find(key);
    }
    long at = block + ((long) counter << 3);
    U.putLong(at, U.getLong(at) + 1);
  }
}
