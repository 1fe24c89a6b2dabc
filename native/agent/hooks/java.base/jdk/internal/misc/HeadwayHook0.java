package jdk.internal.misc;

import java.util.concurrent.locks.AbstractOwnableSynchronizer;
import java.util.concurrent.locks.AbstractQueuedLongSynchronizer;
import java.util.concurrent.locks.AbstractQueuedSynchronizer;
import java.util.concurrent.locks.StampedLock;
import jdk.internal.access.JavaLangAccess;
import jdk.internal.access.SharedSecrets;
import jdk.internal.vm.annotation.DontInline;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Hidden;

/**
 * What the redirected call sites of LockSupport, AbstractOwnableSynchronizer and VirtualThread call
 * (docs/decisions/0005-locks.md).
 *
 * <p>Each method does what the call site did, whatever becomes of the recording around it. So nothing that goes wrong in
 * the recording leaves here: at the end of a stack, or of the heap, a park is simply not recorded. Other exceptions
 * (Thread.stop) are the program's own and pass.
 *
 * <p>Compiled for JDK 17 against stubs of what that lacks (../access, VirtualThreads); loaded by JNI into the boot loader,
 * in a package of java.base. The digit in the name counts the copies of the agent's library in one JVM.
 */
public final class HeadwayHook0 {
  // hw_block_flags
  private static final int TIMED = 1;
  private static final int VIRTUAL = 8;
  private static final int PINNED = 16;
  private static final int AGAIN = 128;
  private static final int SLEEP = 256;

  private static final Unsafe U = Unsafe.getUnsafe();
  private static final long THREAD_ID = U.objectFieldOffset(Thread.class, "tid"); // getId() may be overridden
  private static final long PARK_BLOCKER = U.objectFieldOffset(Thread.class, "parkBlocker");
  private static final long OWNER = U.objectFieldOffset(AbstractOwnableSynchronizer.class, "exclusiveOwnerThread");
  private static final long HEAD = U.objectFieldOffset(AbstractQueuedSynchronizer.class, "head");
  private static final long TAIL = U.objectFieldOffset(AbstractQueuedSynchronizer.class, "tail");
  private static final long LONG_HEAD = U.objectFieldOffset(AbstractQueuedLongSynchronizer.class, "head");
  private static final long LONG_TAIL = U.objectFieldOffset(AbstractQueuedLongSynchronizer.class, "tail");

  /**
   * The holds that are being timed: WAYS places for each group of threads (by id), a cache line apart: the thread's id and
   * what is known; when the hold began; when it ended, by System.nanoTime, which is the agent's clock; and what NEXT, WRITTEN
   * and LOOKED say. Which lock it is is in LOCKS. A hold that finds no place is not timed, but counted.
   */
  private static final int WAYS = 4;

  private static final int ENDS = 2 * WAYS;
  private static final int NEXT = 3 * WAYS; // how far away the group is that is looked after next
  private static final int WRITTEN = NEXT + 1; // how many of the group's holds came to DONE
  private static final int LOOKED = NEXT + 2; // ... when the agent was told of those there
  private static final int STRIDE = 4 * WAYS;
  private static final int GROUPS = 256;
  private static final long[] HOLDS = new long[GROUPS * STRIDE];
  private static final Object[] LOCKS = new Object[GROUPS * WAYS];

  /**
   * Holds that have ended, until the agent is told: a ring of places for each group. One that finds its place taken waits where
   * it was timed. A thread that gets a lock again and again while the next one is on its way wakes nobody for long.
   */
  private static final int RING = 64;

  private static final long[] DONE = new long[GROUPS * RING];
  private static final long[] DONE_TIMES = new long[2 * GROUPS * RING];
  private static final Object[] DONE_LOCKS = new Object[GROUPS * RING];

  private static final long HOLDING = 1;
  private static final long ENDED = 2;
  private static final long TAKEN = 4; // by who tells the agent

  /** Holds that found no place. Threads that count at the same time may count one for two. */
  private static int untimed;

  /** Ids of virtual threads that kept their carrier in their last park; an entry that another one overwrites is lost. */
  private static final int[] PINNED_THREADS = new int[256];

  /**
   * The queues of AbstractQueuedSynchronizer, of the one with a long state, and of StampedLock: where a lock has its head and
   * tail; the class of their nodes, null where a JDK has other ones; and where these have next, prev and waiter.
   */
  private static final Class<?> NODE = nodeOf(AbstractQueuedSynchronizer.class);
  private static final Class<?> LONG_NODE = nodeOf(AbstractQueuedLongSynchronizer.class);
  private static final Class<?> STAMPED_NODE = nodeOf(StampedLock.class);
  private static final long STAMPED_HEAD = fieldOf(STAMPED_NODE == null ? null : StampedLock.class, "head");
  private static final long STAMPED_TAIL = fieldOf(STAMPED_NODE == null ? null : StampedLock.class, "tail");
  private static final long NODE_NEXT = fieldOf(NODE, "next");
  private static final long NODE_PREV = fieldOf(NODE, "prev");
  private static final long NODE_WAITER = fieldOf(NODE, "waiter");
  private static final long LONG_NODE_NEXT = fieldOf(LONG_NODE, "next");
  private static final long LONG_NODE_PREV = fieldOf(LONG_NODE, "prev");
  private static final long LONG_NODE_WAITER = fieldOf(LONG_NODE, "waiter");
  private static final long STAMPED_NODE_NEXT = fieldOf(STAMPED_NODE, "next");
  private static final long STAMPED_NODE_PREV = fieldOf(STAMPED_NODE, "prev");
  private static final long STAMPED_NODE_WAITER = fieldOf(STAMPED_NODE, "waiter");

  /** Of a thread that waits behind more than so many others, and was not woken as the first of them, no place is kept. */
  private static final int MOST_LOOKED_AT = 16;

  /**
   * The nodes in which threads (by id) were queued when their last park ended, and the identity hash of what they are queued
   * for: who parks there again, without having got it in between, goes on with the same wait. Of one that was woken in the
   * middle of its sleep, itself. An entry that another thread overwrites is lost.
   */
  private static final Object[] QUEUED = new Object[256];

  private static final int[] QUEUED_FOR = new int[256];

  /** Where a long array's elements begin. Set by the agent: Unsafe.arrayBaseOffset returns an int in some JDKs, a long in others. */
  private static long longsAt;

  /** Set by the agent: parks, wakings and holds are recorded. */
  private static boolean on;

  /**
   * Set by the agent: the causal profiler is told of parks and wakings, and may hold the thread up in these calls. Virtual
   * threads that leave their carrier while parked tell it nothing: no OS thread stands still.
   */
  private static boolean causal;

  private HeadwayHook0() {}

  private static native long begin(Object blocker, int hash, int classHash, int thread, int owner, int flags);

  private static native void end(long waiting, int flags, long dueNs);

  private static native void wakes(int target, int thread);

  private static native void held(Object synchroniser, int hash, int thread, long start, long end);

  private static native boolean parkBegins(int virtualThread, boolean isTimed);

  private static native void parkEnds(int virtualThread, boolean isTimed);

  private static native void unparks(int target);

  private static native void releases();

  // --- platform threads ---

  @Hidden
  public static void park(Unsafe unsafe, boolean isAbsolute, long time) {
    if (causal) {
      parkCausally(unsafe, isAbsolute, time, 0);
      return;
    }
    parkRecorded(unsafe, isAbsolute, time);
  }

  @Hidden
  private static void parkRecorded(Unsafe unsafe, boolean isAbsolute, long time) {
    long waiting = on ? begins(isAbsolute || time != 0 ? TIMED : 0) : 0;
    if (waiting == 0) {
      unsafe.park(isAbsolute, time);
      return;
    }
    try {
      unsafe.park(isAbsolute, time);
    } finally {
      ends(waiting, 0);
    }
  }

  /** What the thread is held up for comes before the park that is recorded, so that it is no part of it. */
  @Hidden
  private static void parkCausally(Unsafe unsafe, boolean isAbsolute, long time, int virtualThread) {
    boolean isTimed = isAbsolute || time != 0;
    boolean isTold = causalParkBegins(virtualThread, isTimed);
    try {
      if (virtualThread == 0) {
        parkRecorded(unsafe, isAbsolute, time);
      } else {
        unsafe.park(isAbsolute, time);
      }
    } finally {
      if (isTold) {
        causalParkEnds(virtualThread, isTimed);
      }
    }
  }

  @Hidden
  public static void unpark(Unsafe unsafe, Object thread) {
    if (on | causal) {
      waking(thread);
    }
    unsafe.unpark(thread);
    if (on) {
      tellHoldsInTurn();
    }
  }

  // --- virtual threads: while one is unmounted, only Java frames are on its stack ---

  /** JDK 19 to 23. */
  @Hidden
  public static void parkVirtual() {
    long waiting = on ? begins(VIRTUAL) : 0;
    if (waiting == 0) {
      VirtualThreads.park();
      return;
    }
    try {
      VirtualThreads.park();
    } finally {
      ends(waiting, pinned());
    }
  }

  @Hidden
  public static void parkVirtual(long nanos) {
    long waiting = on ? begins(VIRTUAL | TIMED) : 0;
    if (waiting == 0) {
      VirtualThreads.park(nanos);
      return;
    }
    try {
      VirtualThreads.park(nanos);
    } finally {
      ends(waiting, pinned());
    }
  }

  @Hidden
  public static void parkVirtualUntil(long deadline) {
    long waiting = on ? begins(VIRTUAL | TIMED) : 0;
    if (waiting == 0) {
      VirtualThreads.parkUntil(deadline);
      return;
    }
    try {
      VirtualThreads.parkUntil(deadline);
    } finally {
      ends(waiting, pinned());
    }
  }

  @Hidden
  public static void unparkVirtual(Thread thread) {
    if (on | causal) {
      waking(thread);
    }
    VirtualThreads.unpark(thread);
    if (on) {
      tellHoldsInTurn();
    }
  }

  /** JDK 24 and later. */
  @Hidden
  public static void parkVirtual(JavaLangAccess access) {
    long waiting = on ? begins(VIRTUAL) : 0;
    if (waiting == 0) {
      access.parkVirtualThread();
      return;
    }
    try {
      access.parkVirtualThread();
    } finally {
      ends(waiting, pinned());
    }
  }

  @Hidden
  public static void parkVirtual(JavaLangAccess access, long nanos) {
    long waiting = on ? begins(VIRTUAL | TIMED) : 0;
    if (waiting == 0) {
      access.parkVirtualThread(nanos);
      return;
    }
    try {
      access.parkVirtualThread(nanos);
    } finally {
      ends(waiting, pinned());
    }
  }

  @Hidden
  public static void unparkVirtual(JavaLangAccess access, Thread thread) {
    if (on | causal) {
      waking(thread);
    }
    access.unparkVirtualThread(thread);
    if (on) {
      tellHoldsInTurn();
    }
  }

  /** Called by VirtualThread.sleepNanos, in a JDK with virtual threads: does what its parkNanos did. */
  @Hidden
  public static void sleepVirtual(Thread self, long nanos) {
    long waiting = on ? begins(VIRTUAL | TIMED | SLEEP) : 0;
    if (waiting == 0) {
      SharedSecrets.getJavaLangAccess().parkVirtualThread(nanos);
      return;
    }
    long start = System.nanoTime();
    try {
      SharedSecrets.getJavaLangAccess().parkVirtualThread(nanos);
    } finally {
      ends(waiting, pinned(), start + nanos);
      noteSleep(self, start, nanos);
    }
  }

  /** Called by VirtualThread itself, inside one of the parks above or in a sleep, when it can't leave its carrier. */
  @Hidden
  public static void parkPinned(Unsafe unsafe, boolean isAbsolute, long time) {
    if (on) {
      notePinned();
    }
    if (causal) {
      parkCausally(unsafe, isAbsolute, time, idOf(Thread.currentThread()));
      return;
    }
    unsafe.park(isAbsolute, time);
  }

  // --- owners: on the path of every exclusive lock, contended or not ---
  //
  // Inside methods that HotSpot lets end even where the stack does (@ReservedStackAccess), before the owner is set. Who
  // calls this goes on whatever VirtualMachineError comes of it: this hold is not recorded then. And compiled code calls
  // nothing from here, but for a causal profile: a call takes the reserved part of the stack into use, which compilers
  // give back only when the method ends that they have put the lock into. Deeper calls of that one, with locks of their
  // own, would then find none. So the agent is told of holds later.

  /** Before the owner is set: what has to do with the release of a lock, which is still held. */
  @ForceInline
  @Hidden
  public static void ownerChanges(AbstractOwnableSynchronizer synchroniser, Thread thread) {
    if (thread != null) {
      return;
    }
    if (causal) {
      beforeRelease(synchroniser);
    }
    if (on) {
      int id = idOf(Thread.currentThread());
      int at = placeOf(id);
      if ((HOLDS[at] | HOLDS[at + 1] | HOLDS[at + 2] | HOLDS[at + 3]) != 0) {
        endHold(synchroniser, id, at);
      }
    }
  }

  /** Behind it: what has to do with the acquisition of a lock, which is held now. */
  @ForceInline
  @Hidden
  public static void ownerIsSet(AbstractOwnableSynchronizer synchroniser, Thread thread) {
    if (on && thread != null && hasQueue(synchroniser)) {
      beginHold(synchroniser, idOf(thread));
    }
  }

  /** What may fail comes before the place is taken. */
  @ForceInline
  @Hidden
  private static void beginHold(AbstractOwnableSynchronizer synchroniser, int thread) {
    long hold = (long) thread << 32 | HOLDING;
    int at = placeOf(thread);
    long start = System.nanoTime();
    for (int way = 0; way < WAYS; way++) {
      if (HOLDS[at + way] == hold && LOCKS[lockOf(at) + way] == synchroniser) { // its end was not seen: nothing was recorded then
        HOLDS[at + way + WAYS] = start;
        return;
      }
    }
    for (int way = 0; way < WAYS; way++) {
      if (HOLDS[at + way] == 0 && U.compareAndSetLong(HOLDS, offsetOf(at + way), 0, hold)) {
        LOCKS[lockOf(at) + way] = synchroniser;
        HOLDS[at + way + WAYS] = start;
        return;
      }
    }
    untimed++;
  }

  @ForceInline
  @Hidden
  private static void endHold(AbstractOwnableSynchronizer synchroniser, int thread, int at) {
    long hold = (long) thread << 32 | HOLDING;
    for (int way = 0; way < WAYS; way++) {
      if (HOLDS[at + way] == hold && LOCKS[lockOf(at) + way] == synchroniser) {
        keepHold(synchroniser, hold, at, way, System.nanoTime());
        return;
      }
    }
  }

  @ForceInline
  @Hidden
  private static void keepHold(Object synchroniser, long hold, int at, int way, long end) {
    long written = HOLDS[at + WRITTEN]; // one that another thread takes as well gets no place in the ring
    HOLDS[at + WRITTEN] = written + 1;
    int place = ringOf(at) + (int) (written & (RING - 1));
    long ended = hold ^ HOLDING ^ ENDED;
    if (DONE[place] != 0 || !U.compareAndSetLong(DONE, offsetOf(place), 0, TAKEN)) {
      HOLDS[at + way + ENDS] = end;
      U.compareAndSetLong(HOLDS, offsetOf(at + way), hold, ended); // or it is forgotten
      return;
    }
    DONE_LOCKS[place] = synchroniser;
    DONE_TIMES[2 * place] = HOLDS[at + way + WAYS];
    DONE_TIMES[2 * place + 1] = end;
    U.putLongVolatile(DONE, offsetOf(place), ended);
    if (U.compareAndSetLong(HOLDS, offsetOf(at + way), hold, TAKEN)) {
      LOCKS[lockOf(at) + way] = null;
      U.putLongVolatile(HOLDS, offsetOf(at + way), 0);
    }
  }

  /** The last moment at which the lock is held: who waits for it must not get it before its holder has paid. */
  @ForceInline
  @Hidden
  private static void beforeRelease(AbstractOwnableSynchronizer synchroniser) {
    if (hasQueue(synchroniser)) {
      pays();
    }
  }

  @DontInline
  @Hidden
  private static void pays() {
    releases();
  }

  /** Whether threads wait for the synchroniser; the one that acquires it now may be the first of them. */
  @ForceInline
  @Hidden
  private static boolean hasQueue(AbstractOwnableSynchronizer synchroniser) {
    if (synchroniser instanceof AbstractQueuedSynchronizer) {
      return U.getReference(synchroniser, HEAD) != U.getReference(synchroniser, TAIL);
    }
    return synchroniser instanceof AbstractQueuedLongSynchronizer
        && U.getReference(synchroniser, LONG_HEAD) != U.getReference(synchroniser, LONG_TAIL);
  }

  @ForceInline
  @Hidden
  private static int placeOf(int thread) {
    return (thread & (GROUPS - 1)) * STRIDE;
  }

  @ForceInline
  @Hidden
  private static int lockOf(int at) {
    return at / STRIDE * WAYS;
  }

  @ForceInline
  @Hidden
  private static int ringOf(int at) {
    return at / STRIDE * RING;
  }

  @ForceInline
  @Hidden
  private static long offsetOf(int place) {
    return longsAt + (long) place * Long.BYTES;
  }

  /** Of the calling thread, and of those that share its places: not while a lock is acquired or released. */
  @Hidden
  private static void tellHolds() {
    try {
      tellEndedHolds(placeOf(idOf(Thread.currentThread())));
    } catch (VirtualMachineError ignored) {
      // later
    }
  }

  /**
   * Also of one other group in turn, from the one before on. Who released a lock that nobody waited for may never come here
   * again, but was woken by somebody before: as many groups are looked after as holds end like this. In one place, not in
   * each of the many that wake somebody: what is compiled there takes memory of the program.
   */
  @DontInline
  @Hidden
  private static void tellHoldsInTurn() {
    try {
      int at = placeOf(idOf(Thread.currentThread()));
      tellEndedHolds(at);
      long distance = HOLDS[at + NEXT] + STRIDE;
      HOLDS[at + NEXT] = distance;
      tellEndedHolds((int) (at - distance) & (HOLDS.length - 1));
    } catch (VirtualMachineError ignored) {
      // later
    }
  }

  /** Called by the agent: of all threads. Returns how many holds were not timed since the JVM began. */
  @Hidden
  private static int tellAllHolds() {
    for (int at = 0; at < HOLDS.length; at += STRIDE) {
      HOLDS[at + LOOKED] = HOLDS[at + WRITTEN] == 0 ? 0 : -1; // one may have come to DONE behind the last look
      tellEndedHolds(at);
    }
    return untimed;
  }

  /**
   * Called by the agent, before a recording and behind it, and after a time without call sites: holds whose end nobody will
   * see, or nobody wants to know. Their locks are no longer kept alive, and their places are free. Mostly interpreted, and by
   * a thread of the program: so only what was ever used is looked at.
   */
  @Hidden
  private static void forgetHolds() {
    for (int i = 0; i < QUEUED.length; i++) {
      QUEUED[i] = null;
    }
    for (int at = 0; at < HOLDS.length; at += STRIDE) {
      if ((HOLDS[at] | HOLDS[at + 1] | HOLDS[at + 2] | HOLDS[at + 3]) != 0) {
        forget(HOLDS, LOCKS, at, lockOf(at), WAYS);
      }
      if (HOLDS[at + WRITTEN] != 0) {
        forget(DONE, DONE_LOCKS, ringOf(at), ringOf(at), RING);
      }
    }
  }

  @Hidden
  private static void forget(long[] holds, Object[] locks, int first, int firstLock, int count) {
    for (int i = 0; i < count; i++) {
      long hold = U.getLongVolatile(holds, offsetOf(first + i));
      if ((hold & (HOLDING | ENDED)) != 0 && U.compareAndSetLong(holds, offsetOf(first + i), hold, TAKEN)) {
        locks[firstLock + i] = null;
        U.putLongVolatile(holds, offsetOf(first + i), 0);
      }
    }
  }

  @Hidden
  private static void tellEndedHolds(int at) {
    if (((HOLDS[at] | HOLDS[at + 1] | HOLDS[at + 2] | HOLDS[at + 3]) & ENDED) != 0) {
      tellHoldsOf(at);
    }
    long written = HOLDS[at + WRITTEN];
    if (written != HOLDS[at + LOOKED]) {
      HOLDS[at + LOOKED] = written;
      tellDoneOf(at);
    }
  }

  @Hidden
  private static void tellHoldsOf(int at) {
    for (int way = 0; way < WAYS; way++) {
      long hold = U.getLongVolatile(HOLDS, offsetOf(at + way));
      if ((hold & ENDED) == 0 || !U.compareAndSetLong(HOLDS, offsetOf(at + way), hold, TAKEN)) {
        continue;
      }
      Object lock = LOCKS[lockOf(at) + way];
      long start = HOLDS[at + way + WAYS];
      long end = HOLDS[at + way + ENDS];
      LOCKS[lockOf(at) + way] = null;
      U.putLongVolatile(HOLDS, offsetOf(at + way), 0);
      tell(lock, hold, start, end);
    }
  }

  @Hidden
  private static void tellDoneOf(int at) {
    for (int place = ringOf(at); place < ringOf(at) + RING; place++) {
      long hold = U.getLongVolatile(DONE, offsetOf(place));
      if ((hold & ENDED) == 0 || !U.compareAndSetLong(DONE, offsetOf(place), hold, TAKEN)) {
        continue;
      }
      Object lock = DONE_LOCKS[place];
      long start = DONE_TIMES[2 * place];
      long end = DONE_TIMES[2 * place + 1];
      DONE_LOCKS[place] = null;
      U.putLongVolatile(DONE, offsetOf(place), 0);
      tell(lock, hold, start, end);
    }
  }

  @Hidden
  private static void tell(Object lock, long hold, long start, long end) {
    try {
      held(lock, System.identityHashCode(lock), (int) (hold >> 32), start, end);
    } catch (VirtualMachineError ignored) {
      untimed++;
    }
  }

  // --- what the recording needs to know ---

  @ForceInline
  @Hidden
  private static int idOf(Object thread) {
    return (int) U.getLong(thread, THREAD_ID);
  }

  @Hidden
  private static long begins(int flags) {
    try {
      Thread thread = Thread.currentThread();
      int id = idOf(thread);
      if ((flags & VIRTUAL) != 0) {
        PINNED_THREADS[id & 255] = 0; // one may be left of a sleep
      }
      Object blocker = U.getReference(thread, PARK_BLOCKER);
      int hash = 0;
      int classHash = 0;
      if (blocker != null) {
        hash = System.identityHashCode(blocker);
        classHash = System.identityHashCode(blocker.getClass());
        tellHolds(); // of a lock that nobody waited for when it was released: who waits for conditions alone wakes nobody
      }
      int owner = 0;
      if (blocker instanceof AbstractOwnableSynchronizer) {
        Object holder = U.getReference(blocker, OWNER);
        owner = holder == null ? 0 : idOf(holder);
      }
      if (parksAgain(thread, id & 255, hash)) {
        flags |= AGAIN;
      }
      return begin(blocker, hash, classHash, id, owner, flags);
    } catch (VirtualMachineError ignored) {
      return 0;
    }
  }

  @Hidden
  private static void ends(long waiting, int flags) {
    ends(waiting, flags, 0);
  }

  /** A sleep is over when its time is, by System.nanoTime; that nobody tells otherwise. */
  @Hidden
  private static void ends(long waiting, int flags, long dueNs) {
    try {
      end(waiting, flags, dueNs);
      keepPlace();
    } catch (VirtualMachineError ignored) {
      // the thread's next event ends this wait
    }
  }

  // --- several parks that are one wait: whoever gets a lock before the thread that was woken for it makes it park again ---

  /** Whether the thread is still queued where it was when its last park ended. */
  @Hidden
  private static boolean parksAgain(Thread thread, int place, int hash) {
    Object node = QUEUED[place];
    if (node == null) {
      return false;
    }
    QUEUED[place] = null;
    return node == thread ? hash == 0 : QUEUED_FOR[place] == hash && waiterIn(node) == thread;
  }

  /** At the end of a park: keeps the calling thread's node in the queue of what it parked for, if there is one. */
  @Hidden
  private static void keepPlace() {
    Thread thread = Thread.currentThread();
    Object lock = U.getReference(thread, PARK_BLOCKER);
    Object node = null;
    if (lock instanceof AbstractQueuedSynchronizer) {
      node = NODE == null ? null : queued(thread, lock, HEAD, TAIL, NODE_NEXT, NODE_PREV);
    } else if (lock instanceof AbstractQueuedLongSynchronizer) {
      node = LONG_NODE == null ? null : queued(thread, lock, LONG_HEAD, LONG_TAIL, LONG_NODE_NEXT, LONG_NODE_PREV);
    } else if (lock instanceof StampedLock) {
      node =
          STAMPED_NODE == null
              ? null
              : queued(thread, lock, STAMPED_HEAD, STAMPED_TAIL, STAMPED_NODE_NEXT, STAMPED_NODE_PREV);
    }
    if (node != null) {
      int place = idOf(thread) & 255;
      QUEUED_FOR[place] = System.identityHashCode(lock);
      QUEUED[place] = node;
    }
  }

  /** Who was woken in the middle of a sleep, by a permit that was left over, sleeps on. */
  @Hidden
  private static void noteSleep(Thread self, long start, long nanos) {
    try {
      if (System.nanoTime() - start < nanos && !self.isInterrupted()) {
        QUEUED[idOf(self) & 255] = self;
      }
    } catch (VirtualMachineError ignored) {
      // the rest counts as a sleep of its own
    }
  }

  /** The first in the queue is who is woken; somebody whose park ended by itself may be anywhere, mostly at the end. */
  @Hidden
  private static Object queued(Thread thread, Object lock, long head, long tail, long next, long prev) {
    Object before = U.getReferenceVolatile(lock, head);
    Object node = before == null ? null : U.getReferenceVolatile(before, next);
    if (node != null && waiterIn(node) == thread) {
      return node;
    }
    node = U.getReferenceVolatile(lock, tail);
    for (int i = 0; node != null && i < MOST_LOOKED_AT; i++) {
      if (waiterIn(node) == thread) {
        return node;
      }
      node = U.getReferenceVolatile(node, prev);
    }
    return null;
  }

  /** The thread that waits in a node; null once it has got what it waited for, or has given up. */
  @Hidden
  private static Object waiterIn(Object node) {
    if (NODE != null && NODE.isInstance(node)) {
      return U.getReferenceVolatile(node, NODE_WAITER);
    }
    if (LONG_NODE != null && LONG_NODE.isInstance(node)) {
      return U.getReferenceVolatile(node, LONG_NODE_WAITER);
    }
    if (STAMPED_NODE != null && STAMPED_NODE.isInstance(node)) {
      return U.getReferenceVolatile(node, STAMPED_NODE_WAITER);
    }
    return null;
  }

  /** The class of a lock's nodes, if it has all that is looked at here. */
  private static Class<?> nodeOf(Class<?> lock) {
    try {
      Class<?> node = Class.forName(lock.getName() + "$Node", false, null);
      boolean isKnown =
          isReference(lock, "head", node)
              && isReference(lock, "tail", node)
              && isReference(node, "next", node)
              && isReference(node, "prev", node)
              && isReference(node, "waiter", Thread.class);
      return isKnown ? node : null;
    } catch (ReflectiveOperationException | LinkageError | RuntimeException other) {
      return null;
    }
  }

  private static boolean isReference(Class<?> owner, String field, Class<?> type) throws ReflectiveOperationException {
    return owner.getDeclaredField(field).getType() == type;
  }

  private static long fieldOf(Class<?> owner, String field) {
    return owner == null ? -1 : U.objectFieldOffset(owner, field);
  }

  @Hidden
  private static void waking(Object thread) {
    try {
      if (on) {
        wakes(idOf(thread), idOf(Thread.currentThread()));
      }
      if (causal) {
        unparks(idOf(thread));
      }
    } catch (VirtualMachineError ignored) {
      // nobody is named as the waker
    }
  }

  @Hidden
  private static boolean causalParkBegins(int virtualThread, boolean isTimed) {
    try {
      return parkBegins(virtualThread, isTimed);
    } catch (VirtualMachineError ignored) {
      return false;
    }
  }

  @Hidden
  private static void causalParkEnds(int virtualThread, boolean isTimed) {
    try {
      parkEnds(virtualThread, isTimed);
    } catch (VirtualMachineError ignored) {
      // the thread's next wait takes this one's place
    }
  }

  @Hidden
  private static void notePinned() {
    int id = idOf(Thread.currentThread());
    PINNED_THREADS[id & 255] = id;
  }

  @Hidden
  private static int pinned() {
    int id = idOf(Thread.currentThread());
    return PINNED_THREADS[id & 255] == id ? PINNED : 0;
  }
}
