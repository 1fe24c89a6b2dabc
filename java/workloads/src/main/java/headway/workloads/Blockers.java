package headway.workloads;

import java.lang.reflect.Field;
import java.util.concurrent.locks.LockSupport;

/**
 * The objects that threads park on: not the synchronizer itself, but what is inside it. Needs
 * {@code --add-opens java.base/java.util.concurrent.locks=ALL-UNNAMED}.
 */
final class Blockers {
    private Blockers() {}

    /** What threads park on that wait for a ReentrantLock or one side of a ReentrantReadWriteLock. */
    static Object of(Object lock) {
        try {
            Field sync = lock.getClass().getDeclaredField("sync");
            sync.setAccessible(true);
            return sync.get(lock);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Whether {@code thread} is parked on an object or waits for a monitor: it has got as far as it can. */
    static boolean isBlocked(Thread thread) {
        return switch (thread.getState()) {
            case WAITING, TIMED_WAITING -> LockSupport.getBlocker(thread) != null;
            case BLOCKED -> true;
            default -> false;
        };
    }
}
