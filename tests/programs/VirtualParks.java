import java.lang.reflect.Method;
import java.util.concurrent.locks.LockSupport;

/**
 * Virtual threads that each park once, in another way. Prints "WAY ID HASH" of each: its id and the identity hash of what it
 * parks on (0: on nothing). Built for JDK 17, hence by reflection.
 */
public final class VirtualParks {
    private static final long SOON = 20_000_000;

    /** What is parked on. */
    private static final class Place {}

    private static final Place IN_INITIALISER = new Place();
    private static final Place FOR_EVER_IN_INITIALISER = new Place();

    /** Below a static initialiser is a native frame, which keeps a virtual thread on its carrier. */
    private static final class Pinned {
        static {
            LockSupport.parkNanos(IN_INITIALISER, SOON);
        }

        static void touch() {}
    }

    private static final class PinnedForEver {
        static {
            LockSupport.park(FOR_EVER_IN_INITIALISER);
        }

        static void touch() {}
    }

    public static void main(String[] args) throws Exception {
        Place untimed = new Place();
        Place timed = new Place();
        Place until = new Place();
        Place named = new Place();
        run("park", untimed, "", () -> LockSupport.park(untimed));
        run("parkNanos", timed, "", () -> LockSupport.parkNanos(timed, SOON));
        run("parkUntil", until, "", () -> LockSupport.parkUntil(until, System.currentTimeMillis() + 20));
        run("named", named, "a-name", () -> LockSupport.park(named));
        run("park-alone", null, "", () -> LockSupport.park());
        run("parkNanos-alone", null, "", () -> LockSupport.parkNanos(SOON));
        run("pinned", FOR_EVER_IN_INITIALISER, "", PinnedForEver::touch);
        run("pinned-parkNanos", IN_INITIALISER, "", Pinned::touch);
    }

    private static void run(String way, Object place, String name, Runnable task) throws Exception {
        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
        Class<?> type = Class.forName("java.lang.Thread$Builder");
        if (!name.isEmpty()) {
            builder = type.getMethod("name", String.class).invoke(builder, name);
        }
        Method start = type.getMethod("start", Runnable.class);
        Thread thread = (Thread) start.invoke(builder, task);
        while (thread.isAlive()) {
            if (thread.getState() == Thread.State.WAITING) {
                LockSupport.unpark(thread);
            }
            Thread.sleep(1);
        }
        System.out.println(way + " " + thread.getId() + " " + (place == null ? 0 : System.identityHashCode(place)));
    }
}
