package java.lang;

import java.lang.reflect.Array;
import jdk.internal.access.SharedSecrets;
import jdk.internal.misc.Unsafe;
import jdk.internal.vm.annotation.ForceInline;
import jdk.internal.vm.annotation.Hidden;
import jdk.internal.vm.annotation.Stable;

/**
 * What the counts of reads and writes that headway inserts into classes of the program call
 * (native/agent/objects/accesses.cpp).
 *
 * <p>In package java.lang, because every class loader and every module sees that. Loaded by JNI into the boot loader; the
 * digit in the name counts the copies of the agent's library in one JVM.
 */
public final class HeadwayCount0 {
  // As in access_counters.h: each thread's counters are in a block of its own, before which its key stands.
  private static final int MIDDLE = 1 << 15;
  private static final long KEY_AT = -(MIDDLE + 1) * 8L;
  private static final long OWNER_AT = KEY_AT - 8;
  private static final long RANDOM_AT = KEY_AT - 16;
  private static final long OWN_IDS_AT = KEY_AT - 24;
  private static final long OTHER_IDS_AT = KEY_AT - 32;
  private static final long OWNED_AT = MIDDLE * 8L;
  private static final int OWNED_SHIFT = 5;
  private static final long PAIRS_AT = OWNED_AT + (2L * MIDDLE << OWNED_SHIFT);
  private static final int PAIR_SHIFT = 5;
  private static final long OF_WRITERS = (2L * MIDDLE << OWNED_SHIFT) + (256L << PAIR_SHIFT);
  private static final int KINDS = 4;
  private static final long MASK = (1 << 16) - 1;

  // As in owner_hash.h: an owner's number, a check of it and random bits, in 31 bits.
  private static final int OWNER_SHIFT = 23;
  private static final int CHECK_SHIFT = 19;
  private static final int RANDOM_MASK = (1 << CHECK_SHIFT) - 1;
  private static final int CHECK_FACTOR = 0x9E3779B1;
  private static final int FOREIGN = 255;
  private static final long RANDOM_STEP = 0x9E3779B97F4A7C15L;
  private static final int HASH_MASK = 0x7FFFFFFF;

  // As in object_ids.h. A hash is a number times an odd one, its high bits mixed into its low ones: hash tables that look at the
  // low ones alone (IdentityHashMap) would else have every 1,024th object in one place.
  private static final int MOST_IDS = 1 << 28;
  private static final int CHUNK_SHIFT = 10;
  private static final int CHUNK_MASK = (1 << CHUNK_SHIFT) - 1;
  private static final int SPREAD = 0x9E3779B1;
  private static final int GATHER = inverse(SPREAD);
  private static final int MIX_SHIFT = 15; // not 16, by which HashMap would take it out again

  private static final Unsafe U = Unsafe.getUnsafe();
  private static final long THREAD_ID = U.objectFieldOffset(Thread.class, "tid"); // getId() may be overridden
  private static final long JVM_THREAD = U.objectFieldOffset(Thread.class, "eetop");
  private static final boolean HAS_CARRIERS = Runtime.version().feature() >= 21;
  private static final long BLOCKS = blocks();

  /**
   * Where counting is in windows a byte for each counter: 1 if it counts at present, else 2; null: all count always. Compilers
   * take the bytes for constants, so that code between windows is as fast as without counts. Whenever the agent has changed
   * them it retransforms this class, which changes nothing in it, but makes the JVM discard all code that was compiled with it.
   */
  @Stable private static final byte[] SWITCHES = hasWindows() ? openSwitches() : null;

  private static final long OWNERS = BLOCKS + (MASK + 1) * 8; // how many numbers are given to owners

  /** Who wrote last, a byte for each number of an object; 0: objects have no numbers, as the rule of the last writer is not asked for. */
  private static final long IDS = ids();

  private static final long CHUNKS = IDS + MOST_IDS; // who has taken each chunk of numbers
  private static final long GIVEN = CHUNKS + (MOST_IDS >> CHUNK_SHIFT);
  private static final long HAS_UNNOTED = GIVEN + 8; // whether a method has run that writes without a note of who
  private static final boolean COUNTS_ALLOCATORS = countsAllocators();

  /** Where the generator of identity hashes is in a thread of the JVM's; below 0: owners are not asked for, or not known. */
  private static final long GENERATOR = generator();

  /** Where the identity hash is in the first word of an object that is not locked; below 0: not known. */
  private static final int HASH_SHIFT = GENERATOR < 0 ? -1 : hashShift();

  /** Whether it is there as well while a thread has locked the object and none waits. */
  private static final boolean IS_KEPT_IN_LOCKED = HASH_SHIFT >= 0 && isKeptInLocked();

  /** For each place that is written to a word: where it is in its object; 0: cache lines are not asked for. */
  private static final long PLACES = places();

  // As in access_counters.h: of each row how many accesses it is until the next one that is sampled, and how many that was.
  private static final long NODES_AT = OWNED_AT + 2 * OF_WRITERS;
  private static final int NODE_SHIFT = 4;
  private static final boolean HAS_NODES = hasNodes();
  private static final long ARRAY_BASE = HAS_NODES ? arrayBase(long[].class) : 0;

  private static final int SCALE_SHIFT = 16; // in the word of elements: where the first is, and above that the shift of an index

  static {
    if (GENERATOR >= 0) {
      ownersWork(HASH_SHIFT >= 0 && isSteered());
    }
    if (PLACES != 0) {
      linesWork(areWhereHandlesLead());
    }
    if (HAS_NODES) {
      nodesWork(areWhereHandlesLead());
    }
  }

  private HeadwayCount0() {}

  private static native long blocks();

  private static native boolean hasWindows();

  private static byte[] openSwitches() {
    byte[] switches = new byte[2 * MIDDLE];
    java.util.Arrays.fill(switches, (byte) 1);
    return switches;
  }

  private static native long find(long key);

  private static native long ids();

  private static native int takeIds(int owner);

  private static native boolean countsAllocators();

  private static native long generator();

  private static native void ownersWork(boolean work);

  private static native long places();

  /** Unsafe.arrayBaseOffset, which returns an int or a long. */
  private static native long arrayBase(Class<?> type);

  private static native boolean isAt(Object array, long offset, long expected);

  private static native void linesWork(boolean work);

  private static native Class<?> declaring(Object object, int place);

  private static native String fieldName(int place);

  private static native void placeIs(Class<?> declaring, int place, long word);

  private static native void wrote(Object object, long offset, int place, long thread);

  private static native boolean hasNodes();

  private static native void nodesWork(boolean work);

  /** How many accesses it is until the next sample; where there is an object, it is sampled first. */
  private static native long sampled(
      Object object, long offset, int row, long key, int owners, long accesses);

  @ForceInline
  @Hidden
  private static Thread carrier(Thread current) {
    return HAS_CARRIERS ? SharedSecrets.getJavaLangAccess().currentCarrierThread() : current;
  }

  /** The calling thread's block; a virtual thread has one of its carrier's, which it can't leave in between. */
  @ForceInline
  @Hidden
  private static long block(Thread current, Thread carrier) {
    long id = U.getLong(carrier, THREAD_ID);
    long key = carrier == current ? id : ~id;
    long block = U.getLong(BLOCKS + ((key & MASK) << 3));
    return U.getLong(block + KEY_AT) == key ? block : find(key);
  }

  @ForceInline
  @Hidden
  private static void addOne(long at) {
    U.putLong(at, U.getLong(at) + 1);
  }

  /** Adds 1 to a counter of the calling thread's; only that thread writes there. */
  @ForceInline
  @Hidden
  public static void count(int counter) {
    if (SWITCHES != null && SWITCHES[MIDDLE + counter] != 1) {
      return;
    }
    Thread current = Thread.currentThread();
    addOne(block(current, carrier(current)) + ((long) counter << 3));
  }

  /** Counts an access to an object by its owner; the kind of access is in the last bits of the row's number. */
  @ForceInline
  @Hidden
  public static void touch(Object object, int row) {
    if (object == null) {
      return;
    }
    Thread current = Thread.currentThread();
    long block = block(current, carrier(current));
    if (IDS != 0) {
      touchById(object, row, block);
    } else {
      note(block, row, ownerOf(object), U.getLong(block + OWNER_AT));
    }
  }

  /** A method begins that has writes without a call of touch: who writes last there is not noted. */
  @ForceInline
  @Hidden
  public static void unnoted() {
    if (IDS != 0 && U.getByte(HAS_UNNOTED) == 0) {
      U.putByte(HAS_UNNOTED, (byte) 1);
    }
  }

  /** Adds 1 by whose the object is, by one rule; `block`: where that rule's counts are as those of the first are in a block. */
  @ForceInline
  @Hidden
  private static void note(long block, int row, int owner, long own) {
    int column = owner == 0 || owner == FOREIGN ? 2 : owner == own ? 0 : 1;
    addOne(block + OWNED_AT + ((long) (row + MIDDLE) << OWNED_SHIFT) + ((long) column << 3));
    addOne(block + PAIRS_AT + ((long) owner << PAIR_SHIFT) + ((long) (row & (KINDS - 1)) << 3));
  }

  /** Counts an access by the thread that wrote to the object last, and notes the calling thread as that one if it writes. */
  @Hidden
  private static void touchById(Object object, int row, long block) {
    boolean isWrite = (row & 1) != 0;
    int hash = identityHash(object);
    if (hash == 0 && isWrite) {
      hash = numbered(object, block, OTHER_IDS_AT, 0); // of the JDK's making: from now on it has a last writer
    }
    int id = idOf(hash);
    boolean isOurs = id != 0 && id < U.getInt(GIVEN);
    int allocator = isOurs ? U.getByte(CHUNKS + (id >> CHUNK_SHIFT)) & 0xFF : hash == 0 ? 0 : FOREIGN;
    int last = isOurs ? U.getByteOpaque(null, IDS + id) & 0xFF : 0;
    int writer = last == 0 ? allocator : last == FOREIGN ? 0 : last;
    long own = U.getLong(block + OWNER_AT);
    if (COUNTS_ALLOCATORS) {
      note(block, row, allocator, own);
    }
    note(block + OF_WRITERS, row, writer, own);
    if (isWrite && isOurs && writer != own) {
      U.putByteOpaque(null, IDS + id, (byte) (own == 0 ? FOREIGN : own));
    }
  }

  /** An object's identity hash; 0: it has none. */
  @ForceInline
  @Hidden
  private static int identityHash(Object object) {
    long mark = U.getLong(object, 0L);
    boolean isThere = (mark & 7) == 1 || (IS_KEPT_IN_LOCKED && (mark & 3) == 0);
    return isThere ? (int) (mark >>> HASH_SHIFT) & HASH_MASK : hashOfLocked(object);
  }

  /** The number of an object's owner; 0: it has none; FOREIGN: its identity hash is not of our making. */
  @ForceInline
  @Hidden
  private static int ownerOf(Object object) {
    int hash = identityHash(object);
    if (hash == 0) {
      return 0;
    }
    int owner = hash >>> OWNER_SHIFT;
    boolean isOurs = hash == hashOf(owner, hash & RANDOM_MASK) && owner <= U.getInt(OWNERS);
    return isOurs ? owner : FOREIGN;
  }

  @ForceInline
  @Hidden
  private static int hashOf(int owner, int random) {
    int check = ((owner << CHECK_SHIFT | random) * CHECK_FACTOR) >>> 28;
    return owner << OWNER_SHIFT | check << CHECK_SHIFT | random;
  }

  /** An object that has no hash gets one here that names no owner. */
  @Hidden
  private static int hashOfLocked(Object object) {
    Thread current = Thread.currentThread();
    Thread carrier = carrier(current);
    long block = block(current, carrier);
    int nobodys = nextHash(block, 0);
    if (IDS != 0) {
      int hash = numbered(object, block, OTHER_IDS_AT, 0);
      if (hash != 0) {
        return hash;
      }
      nobodys = hashOfId(MOST_IDS | (nobodys & (MOST_IDS - 1))); // of a number that is never given
    }
    return steered(object, carrier, nobodys);
  }

  /**
   * The object's identity hash; if it has none yet, it becomes one of a new number: the block's next one at `at`. 0: there are
   * no numbers left.
   */
  @Hidden
  private static int numbered(Object object, long block, long at, int owner) {
    int id = (int) U.getLong(block + at);
    if (id == 0) {
      // Who has no block of its own (key 0) can't have numbers of its own either.
      boolean areLeft = U.getLong(block + KEY_AT) != 0 && U.getInt(GIVEN) < MOST_IDS;
      id = areLeft ? takeIds(owner) : 0;
      if (id == 0) {
        return 0;
      }
    }
    int next = id + 1;
    // Before the object has the number, so that no error at the end of the stack has two objects share one.
    U.putLong(block + at, (next & CHUNK_MASK) == 0 ? 0 : next);
    int wanted = hashOfId(id);
    int hash = steered(object, carrier(Thread.currentThread()), wanted);
    if (hash != wanted) {
      U.putLong(block + at, id);
    }
    return hash;
  }

  @ForceInline
  @Hidden
  private static int hashOfId(int id) {
    int spread = (id * SPREAD) & HASH_MASK;
    return spread ^ spread >>> MIX_SHIFT;
  }

  /** The number of which that is the hash; 0: of none. */
  @ForceInline
  @Hidden
  private static int idOf(int hash) {
    return ((hash ^ hash >>> MIX_SHIFT ^ hash >>> 2 * MIX_SHIFT) * GATHER) & HASH_MASK;
  }

  private static int inverse(int odd) {
    int found = odd;
    for (int i = 0; i < 5; i++) {
      found *= 2 - odd * found; // twice as many bits are right
    }
    return found;
  }

  @ForceInline
  @Hidden
  private static int nextHash(long block, int owner) {
    long random = U.getLong(block + RANDOM_AT) + RANDOM_STEP;
    U.putLong(block + RANDOM_AT, random);
    int bits = (int) (random >>> 45);
    return hashOf(owner, owner == 0 && bits == 0 ? 1 : bits);
  }

  /**
   * The object's identity hash, by the JVM's own way; if it has none yet, it becomes the wanted one: the next that this
   * thread's generator gives. The generator then goes on as if it had not been asked.
   */
  @Hidden
  private static int steered(Object object, Thread carrier, int wanted) {
    long state = U.getLong(carrier, JVM_THREAD) + GENERATOR;
    long first = U.getLong(state);
    long second = U.getLong(state + 8);
    try {
      U.putLong(state, (wanted ^ (wanted >>> 19)) & 0xFFFFFFFFL);
      return System.identityHashCode(object);
    } finally {
      U.putLong(state, first);
      U.putLong(state + 8, second);
    }
  }

  /** An object of the calling thread's that is new. */
  @ForceInline
  @Hidden
  public static void made(Object object) {
    if (object == null) {
      return;
    }
    long mark = U.getLong(object, 0L);
    if ((mark & 7) == 1 && ((int) (mark >>> HASH_SHIFT) & HASH_MASK) == 0) {
      own(object);
    }
  }

  @Hidden
  private static void own(Object object) {
    Thread current = Thread.currentThread();
    Thread carrier = carrier(current);
    long block = block(current, carrier);
    int owner = (int) U.getLong(block + OWNER_AT);
    if (IDS != 0) {
      numbered(object, block, OWN_IDS_AT, owner);
    } else {
      steered(object, carrier, nextHash(block, owner));
    }
  }

  /** A new array of arrays. */
  @Hidden
  public static void madeAll(Object array) {
    made(array);
    if (array instanceof Object[]) {
      for (Object each : (Object[]) array) {
        if (each == null) {
          return; // further dimensions are not there yet
        }
        madeAll(each);
      }
    }
  }

  // --- memory nodes ---

  /** A field of the object is about to be read or written; the kind of access is in the last bits of the row's number. */
  @ForceInline
  @Hidden
  public static void sampleField(Object object, int row) {
    if (object != null) {
      sample(object, -1, row);
    }
  }

  /** An element of the array is about to be read or written. */
  @ForceInline
  @Hidden
  public static void sampleElement(Object array, int index, int row) {
    if (array != null) {
      sample(array, index, row);
    }
  }

  @ForceInline
  @Hidden
  private static void sample(Object object, int index, int row) {
    Thread current = Thread.currentThread();
    long block = block(current, carrier(current));
    long at = block + NODES_AT + ((long) (row + MIDDLE) << NODE_SHIFT);
    long left = U.getLong(at);
    if (left > 1) {
      U.putLong(at, left - 1);
    } else {
      sampleNow(object, index, row, block, at);
    }
  }

  /** The access is the one to be sampled, or the first of its row. */
  @Hidden
  private static void sampleNow(Object object, int index, int row, long block, long at) {
    long key = U.getLong(block + KEY_AT);
    if (key == 0) {
      return; // there are too many threads
    }
    if (U.getLong(at) == 0) {
      long first = sampled(null, 0, row, key, 0, 0);
      U.putLong(at + 8, first);
      if (first > 1) {
        U.putLong(at, first - 1);
        return;
      }
    }
    long offset = offsetOf(object, index);
    if (offset >= 0) {
      long next = sampled(object, offset, row, key, ownersOf(object), U.getLong(at + 8));
      U.putLong(at + 8, next);
      U.putLong(at, next);
    }
  }

  /** Of fields the object's beginning stands for all; below 0: there is no such element. */
  @Hidden
  private static long offsetOf(Object object, int index) {
    Class<?> type = object.getClass();
    if (!type.isArray()) {
      return 0;
    }
    boolean isThere = index >= 0 && index < Array.getLength(object);
    return isThere ? ARRAY_BASE + (long) index * U.arrayIndexScale(type) : -1;
  }

  /** The numbers of an object's owners, as touch would count them: by who allocated it, and above that by who wrote last. */
  @Hidden
  private static int ownersOf(Object object) {
    if (HASH_SHIFT < 0) {
      return 0;
    }
    if (IDS == 0) {
      return ownerOf(object);
    }
    int hash = identityHash(object);
    int id = idOf(hash);
    boolean isOurs = id != 0 && id < U.getInt(GIVEN);
    int allocator = isOurs ? U.getByte(CHUNKS + (id >> CHUNK_SHIFT)) & 0xFF : hash == 0 ? 0 : FOREIGN;
    int last = isOurs ? U.getByteOpaque(null, IDS + id) & 0xFF : 0;
    int writer = last == 0 ? allocator : last == FOREIGN ? 0 : last;
    return allocator | writer << 8;
  }

  // --- cache lines ---

  /** A field of the object is about to be written. */
  @ForceInline
  @Hidden
  public static void wroteField(Object object, int place) {
    if (object == null) {
      return;
    }
    long word = U.getLong(PLACES + ((long) (place + MIDDLE) << 3));
    if (word == 0) {
      word = firstWrite(object, place);
    }
    if (word > 0) {
      wrote(object, word, place, U.getLong(carrier(Thread.currentThread()), THREAD_ID));
    }
  }

  /** An element of the array is about to be written. */
  @ForceInline
  @Hidden
  public static void wroteElement(Object array, int index, int place) {
    if (array == null || index < 0 || index >= Array.getLength(array)) {
      return;
    }
    long word = U.getLong(PLACES + ((long) (place + MIDDLE) << 3));
    if (word == 0) {
      word = firstWrite(array, place);
    }
    if (word > 0) {
      long offset = (word & ((1 << SCALE_SHIFT) - 1)) + ((long) index << (word >>> SCALE_SHIFT));
      wrote(array, offset, place, U.getLong(carrier(Thread.currentThread()), THREAD_ID));
    }
  }

  /** Where the place is; below 0: not known, or not now, as memory or the stack has run out, which is no error of the program's. */
  @Hidden
  private static long firstWrite(Object object, int place) {
    try {
      Class<?> declaring = declaring(object, place);
      if (declaring == null) {
        return -1;
      }
      long word =
          declaring.isArray()
              ? arrayBase(declaring)
                  | (long) Integer.numberOfTrailingZeros(U.arrayIndexScale(declaring)) << SCALE_SHIFT
              : U.objectFieldOffset(declaring, fieldName(place));
      if (word > 0) { // else there was no stack to look, and the next write looks again
        placeIs(declaring, place, word);
      }
      return word;
    } catch (VirtualMachineError | RuntimeException failed) { // not what another thread stops this one with
      return -1;
    }
  }

  /** Whether handles of objects lead to where they are. A collection may move one meanwhile, but not each time. */
  private static boolean areWhereHandlesLead() {
    int found = 0;
    for (int i = 0; i < 64; i++) {
      long[] array = {i * RANDOM_STEP, ~i * RANDOM_STEP};
      found += isAt(array, arrayBase(long[].class) + 8, array[1]) ? 1 : 0;
    }
    return found > 60;
  }

  // --- whether this JVM keeps identity hashes as we know it ---

  private static int hashShift() {
    int found = -1;
    for (int shift = 1; shift <= 33; shift++) {
      if (isHashAt(shift)) {
        if (found >= 0) {
          return -1;
        }
        found = shift;
      }
    }
    return found;
  }

  private static boolean isHashAt(int shift) {
    for (int i = 0; i < 64; i++) {
      Object object = i % 2 == 0 ? new Object() : new int[i];
      if (((int) (U.getLong(object, 0L) >>> shift) & HASH_MASK) != 0) {
        return false;
      }
      int hash = System.identityHashCode(object);
      long mark = U.getLong(object, 0L);
      if ((mark & 7) != 1 || ((int) (mark >>> shift) & HASH_MASK) != hash) {
        return false;
      }
    }
    return true;
  }

  private static boolean isKeptInLocked() {
    for (int i = 0; i < 8; i++) {
      Object object = new Object();
      int hash = System.identityHashCode(object);
      synchronized (object) {
        long mark = U.getLong(object, 0L);
        if ((mark & 3) != 0 || ((int) (mark >>> HASH_SHIFT) & HASH_MASK) != hash) {
          return false;
        }
      }
    }
    return true;
  }

  private static boolean isSteered() {
    Thread current = Thread.currentThread();
    long block = block(current, carrier(current));
    for (int i = 0; i < 256; i++) {
      Object object = i % 2 == 0 ? new Object() : new byte[i];
      int wanted = nextHash(block, i);
      if (steered(object, carrier(current), wanted) != wanted || System.identityHashCode(object) != wanted) {
        return false;
      }
      synchronized (object) {
        if (System.identityHashCode(object) != wanted) {
          return false;
        }
      }
      if (((int) (U.getLong(object, 0L) >>> HASH_SHIFT) & HASH_MASK) != wanted) {
        return false;
      }
    }
    return true;
  }
}
