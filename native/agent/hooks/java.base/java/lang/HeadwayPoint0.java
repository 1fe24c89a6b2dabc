package java.lang;

import jdk.internal.access.SharedSecrets;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Hidden;

/**
 * What the calls that the causal profiler inserts into classes of the program call (native/agent/causal/points/points.cpp).
 *
 * <p>In package java.lang, because every class loader and every module sees that. Loaded by JNI into the boot loader; the
 * digit in the name counts the copies of the agent's library in one JVM.
 */
public final class HeadwayPoint0 {
  // As in point_class.h: counters are in stripes, by thread, and in each of those in cells of two numbers.
  private static final int STRIPES = 64;
  private static final int STRIPE_SHIFT = 16;
  private static final int CELL_SHIFT = 4;

  // As in ledger.h.
  private static final int ACCOUNTS = 1 << 15;
  private static final int ACCOUNT_SHIFT = 8;
  private static final int PAID = 8;

  private static final Unsafe U = Unsafe.getUnsafe();
  private static final long THREAD_ID = U.objectFieldOffset(Thread.class, "tid"); // getId() may be overridden
  private static final boolean HAS_CARRIERS = Runtime.version().feature() >= 21;
  private static final long CELLS = cells();

  /** Addresses, set by the agent: what all threads owe; the threads' accounts. 0: nobody ever owes anything. */
  private static long delay;

  private static long accounts;

  static {
    watchSleeps();
  }

  private HeadwayPoint0() {}

  private static native long cells();

  private static native long clock();

  private static native void settle();

  private static native void watchSleeps();

  /** The points of the program's own code have numbers once they are asked for; 0: no room. */
  @Hidden
  public static native int point(String name);

  /** That of its beginning; the next number is that of its end. */
  @Hidden
  public static native int pair(String name);

  @ForceInline
  @Hidden
  private static long cell(int point) {
    long stripe = U.getLong(Thread.currentThread(), THREAD_ID) & (STRIPES - 1);
    return CELLS + (stripe << STRIPE_SHIFT) + ((long) point << CELL_SHIFT);
  }

  /** A visit. */
  @ForceInline
  @Hidden
  public static void hit(int point) {
    U.getAndAddLong(null, cell(point), 1L);
  }

  /** A visit of a point at which a latency begins or ends. */
  @ForceInline
  @Hidden
  public static void timed(int point) {
    long cell = cell(point);
    U.getAndAddLong(null, cell + Long.BYTES, clock());
    U.getAndAddLong(null, cell, 1L);
  }

  /** The thread may let another one go on now: first it pays what it owes. */
  @ForceInline
  @Hidden
  public static void leaving() {
    if (accounts == 0) {
      return;
    }
    // Accounts are of OS threads: what a virtual thread does counts for its carrier.
    Thread current = HAS_CARRIERS ? SharedSecrets.getJavaLangAccess().currentCarrierThread() : Thread.currentThread();
    int thread = (int) U.getLong(current, THREAD_ID);
    long account = accounts + ((long) (thread & (ACCOUNTS - 1)) << ACCOUNT_SHIFT);
    if (U.getInt(null, account) != thread || U.getLong(null, account + PAID) < U.getLong(null, delay)) {
      settle();
    }
  }
}
