package jdk.internal.misc;

/** What JDK 19 to 23 have under this name: only to compile against, with a JDK that lacks it. */
public final class VirtualThreads {
  private VirtualThreads() {}

  public static void park() {}

  public static void park(long nanos) {}

  public static void parkUntil(long deadline) {}

  public static void unpark(Thread thread) {}
}
