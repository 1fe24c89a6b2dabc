package headway.workloads.lost;

import java.lang.reflect.Field;

/** The objects inside those of java.util.concurrent that threads park on. Needs {@code --add-opens} for its two packages. */
final class Inside {
    private Inside() {}

    /** What threads wait on for a ReentrantLock, a latch and the like. */
    static Object sync(Object owner) {
        return field(owner, "sync");
    }

    static Object field(Object owner, String name) {
        try {
            Field field = owner.getClass().getDeclaredField(name);
            field.setAccessible(true);
            return field.get(owner);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }
}
