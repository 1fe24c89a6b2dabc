/**
 * Threads that wait for monitors: of one object in a block, of short-lived ones, and of a synchronized method. The comments name the
 * lines. All are entered so often before, by one thread, that the JVM compiles them.
 */
public final class EnteredLines {
    private static final Object LOCK = new Object();
    private static volatile Object latest = new Object();
    private static volatile long pauseMs;
    private static int count;

    static void pause() {
        if (pauseMs == 0) {
            return;
        }
        try {
            Thread.sleep(pauseMs);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void one() {
        synchronized (LOCK) { // one
            count++;
            pause();
        }
    }

    static void each() {
        Object mine = latest;
        synchronized (mine) { // each
            if (mine == latest) {
                pause();
                latest = new Object();
            }
        }
    }

    static synchronized void method() { // method
        count++;
        pause(); // inside method
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 30_000; i++) {
            one();
            each();
            method();
        }
        pauseMs = 1;
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] =
                    new Thread(
                            () -> {
                                for (int round = 0; round < 20; round++) {
                                    one();
                                    each();
                                    method();
                                }
                            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
