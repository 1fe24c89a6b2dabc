package headway.api;

import java.util.Arrays;

/**
 * Performance events that are counted around a piece of the program's own code. They are counted by headway's agent: {@code
 * headway record} or {@code headway run} brings it along. In a program that headway does not record, nothing is counted: {@link
 * #isCounting()} is false and every count is {@link #UNKNOWN}.
 *
 * <pre>{@code
 * try (Counters counters = Counters.group("instructions", "cycles")) {
 *   work();
 *   long[] counts = counters.readAndReset();  // instructions and cycles of this thread in work()
 * }
 * }</pre>
 *
 * The events of a group are counted together or not at all. Where the processor has too few counters for all who count, it
 * counts each group for a part of the time: then a count is scaled up, and UNKNOWN if the group had no counter in between.
 */
public final class Counters implements AutoCloseable {
  /** What a count is that is not known; never a count of nothing, which is 0. */
  public static final long UNKNOWN = -1;

  private static final boolean IS_THERE = isThere();

  private final String[] events;

  private final String reason;

  /** What the agent calls the group; 0: it counts nothing. */
  private long group;

  private Counters(String[] events, long group, String reason) {
    this.events = events;
    this.group = group;
    this.reason = reason;
  }

  /** Whose events are counted. */
  public static final class Scope {
    private static final int ANY = -1;

    private final boolean isOfThread;

    private final int cpu;

    private Scope(boolean isOfThread, int cpu) {
      this.isOfThread = isOfThread;
      this.cpu = cpu;
    }

    /** Those of the thread that asks, on whichever CPU. */
    public static Scope thread() {
      return new Scope(true, ANY);
    }

    /** Those of the thread that asks, while it is on that CPU. */
    public static Scope threadOn(int cpu) {
      return new Scope(true, checked(cpu));
    }

    /** Those of whichever thread of the machine is on that CPU; needs the rights of root. */
    public static Scope cpu(int cpu) {
      return new Scope(false, checked(cpu));
    }

    /** Those of the whole machine; needs the rights of root. */
    public static Scope everything() {
      return new Scope(false, ANY);
    }

    private static int checked(int cpu) {
      if (cpu < 0) {
        throw new IllegalArgumentException("cpu " + cpu);
      }
      return cpu;
    }
  }

  /** Counts events of the calling thread, by the names that {@code headway doctor} lists, until the group is closed. */
  public static Counters group(String... events) {
    return group(Scope.thread(), events);
  }

  /** Counts events of a scope until the group is closed. */
  public static Counters group(Scope scope, String... events) {
    String[] names = events.clone();
    if (names.length == 0 || Arrays.asList(names).contains(null)) {
      throw new IllegalArgumentException("a group needs the names of its events");
    }
    if (!IS_THERE) {
      return new Counters(names, 0, "headway's agent is not in this JVM");
    }
    if (scope.isOfThread && isVirtual(Thread.currentThread())) {
      return new Counters(names, 0, "a virtual thread shares its carrier with others");
    }
    String[] reason = {""};
    long group = open(names, scope.isOfThread, scope.cpu, reason);
    return new Counters(names, group, reason[0]);
  }

  /** Whether the events are counted. */
  public synchronized boolean isCounting() {
    return group != 0;
  }

  /** Why nothing is counted, in words; empty if it is. */
  public String reason() {
    return reason;
  }

  /** The counts of the events since the last call, in the order of their names. */
  public long[] readAndReset() {
    long[] counts = new long[events.length];
    readAndReset(counts);
    return counts;
  }

  /** The same into an array with a place for each event: allocates nothing. */
  public synchronized void readAndReset(long[] counts) {
    if (counts.length < events.length) {
      throw new IllegalArgumentException(counts.length + " places for " + events.length + " events");
    }
    if (group == 0) {
      Arrays.fill(counts, 0, events.length, UNKNOWN);
    } else {
      read(group, counts);
    }
  }

  /** Ends the counting and gives the counters back. */
  @Override
  public synchronized void close() {
    if (group != 0) {
      close(group);
      group = 0;
    }
  }

  private static boolean isVirtual(Thread thread) {
    String name = thread.getClass().getName();
    return name.equals("java.lang.VirtualThread") || name.equals("java.lang.ThreadBuilders$BoundVirtualThread");
  }

  private static boolean isThere() {
    try {
      return version() == 1;
    } catch (UnsatisfiedLinkError none) {
      return false;
    }
  }

  // The JVM finds these in the libraries of its agents (native/agent/entry/api_counters.cpp).

  private static native int version();

  private static native long open(String[] events, boolean isOfThread, int cpu, String[] reason);

  private static native void read(long group, long[] counts);

  private static native void close(long group);
}
