import java.lang.reflect.Method;

/** One virtual thread that sleeps again and again, and no thread that starts or ends. Built for JDK 17, hence by reflection. */
public final class VirtualRounds {
    private static final int WARM_UP_ROUNDS = 500;

    public static void main(String[] args) throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        ((Thread) start.invoke(null, (Runnable) VirtualRounds::rounds)).join();
    }

    private static void rounds() {
        try {
            for (long round = 0; ; ++round) {
                Thread.sleep(1);
                if (round == WARM_UP_ROUNDS) { // whatever thread it takes is there by now
                    System.out.println("ready");
                }
            }
        } catch (InterruptedException end) {
            Thread.currentThread().interrupt();
        }
    }
}
