import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.util.concurrent.locks.AbstractQueuedSynchronizer;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Takes and releases a lock at every depth of a recursion until the stack ends, again and again, and looks afterwards
 * whether the lock is still in order: HotSpot sees to it that its lock and unlock are done wholly or not at all there.
 *
 * <p>Arguments: rounds; queued: threads seem to be queued for the lock, so that headway times its holds; or alone. Tells
 * how often the stack ended, and how often the lock was then held by nobody. Needs --add-opens
 * java.base/java.util.concurrent.locks=ALL-UNNAMED.
 */
final class StackEnd {
    private static final int STACK_BYTES = 256 * 1024;

    private static ReentrantLock lock;
    private static int ends;
    private static int broken;
    private static long sink;

    private static void visit() {
        try {
            lock.lock();
            lock.unlock();
            LockSupport.unpark(Thread.currentThread()); // as who releases a lock does for the one that waits for it
        } catch (StackOverflowError e) {
            sink++;
            throw e;
        }
    }

    // Frames of three sizes, so that the stack ends in another place of the lock's code each time.
    private static void down() {
        visit();
        down();
    }

    private static void downWide(long a, long b, long c) {
        visit();
        downWide(b, c, a + 1);
        sink += a;
    }

    private static void downWider(long a, long b, long c, long d, long e, long f) {
        visit();
        downWider(b, c, d, e, f, a + 1);
        sink += a + b;
    }

    private static void pad(int frames, int which) {
        if (frames > 0) {
            pad(frames - 1, which);
        } else if (which == 0) {
            down();
        } else if (which == 1) {
            downWide(1, 2, 3);
        } else {
            downWider(1, 2, 3, 4, 5, 6);
        }
    }

    private static void tryAll(int rounds, boolean isQueued) {
        for (int round = 0; round < rounds; round++) {
            try {
                pad(round * 7 % 97, round % 3);
            } catch (StackOverflowError e) {
                ends++;
            }
            while (lock.isHeldByCurrentThread()) { // its unlock had not begun
                release();
            }
            if (lock.isLocked()) {
                broken++;
                lock = newLock(isQueued);
            }
        }
    }

    private static void release() {
        try {
            lock.unlock();
        } catch (StackOverflowError e) {
            // one that HotSpot had put off to here; the lock is released
        }
    }

    private static ReentrantLock newLock(boolean isQueued) {
        ReentrantLock made = new ReentrantLock();
        try {
            Field field = ReentrantLock.class.getDeclaredField("sync");
            field.setAccessible(true);
            Object synchroniser = field.get(made);
            Constructor<?> node = Class.forName("java.util.concurrent.locks.AbstractQueuedSynchronizer$ExclusiveNode")
                    .getDeclaredConstructor();
            node.setAccessible(true);
            for (String end : new String[] {"head", "tail"}) {
                Field place = AbstractQueuedSynchronizer.class.getDeclaredField(end);
                place.setAccessible(true);
                if (isQueued) {
                    place.set(synchroniser, node.newInstance());
                }
            }
            LockSupport.parkNanos(synchroniser, 1); // holds are timed of what somebody has parked on
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
        return made;
    }

    public static void main(String[] arguments) throws Exception {
        int rounds = Integer.parseInt(arguments[0]);
        boolean isQueued = arguments[1].equals("queued");
        lock = newLock(isQueued);
        Thread deep = new Thread(null, () -> tryAll(rounds, isQueued), "deep", STACK_BYTES);
        deep.start();
        deep.join();
        System.out.println("{\"ends\":" + ends + ",\"broken\":" + broken + "}");
    }
}
