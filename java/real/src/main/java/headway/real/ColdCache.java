package headway.real;

import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.LoadingCache;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.LongAdder;

/**
 * Caffeine, empty at first, and eight threads that all ask for the same entries in the same order: one of them loads each, which takes so many
 * milliseconds. Prints how many entries were loaded, how long that took, how long threads waited for an entry that another one loaded, and how
 * often they waited for at least half a load: times in ns.
 */
public final class ColdCache {
    private static final int THREADS = 8;
    private static final LongAdder LOADS = new LongAdder();
    private static final LongAdder LOADED_NS = new LongAdder();
    private static final LongAdder WAITED_NS = new LongAdder();
    private static final LongAdder WAITS = new LongAdder();
    private static final ThreadLocal<Long> LOADED_BY_THIS = ThreadLocal.withInitial(() -> 0L);

    /** What the cache calls for an entry that it doesn't have: a query that waits for a disk. */
    static String load(int millis) {
        long began = System.nanoTime();
        try {
            Thread.sleep(millis);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        LOADS.increment();
        LOADED_NS.add(System.nanoTime() - began);
        LOADED_BY_THIS.set(LOADED_BY_THIS.get() + 1);
        return "entry";
    }

    static void ask(LoadingCache<Integer, String> cache, int entries, int millis) {
        for (int entry = 0; entry < entries; entry++) {
            long before = LOADED_BY_THIS.get();
            long began = System.nanoTime();
            cache.get(entry);
            long took = System.nanoTime() - began;
            if (LOADED_BY_THIS.get() == before) {
                WAITED_NS.add(took);
                if (took > millis * 500_000L) {
                    WAITS.increment();
                }
            }
        }
    }

    public static void main(String[] args) throws Exception {
        int entries = Integer.parseInt(args[0]);
        int millis = Integer.parseInt(args[1]);
        LoadingCache<Integer, String> cache = Caffeine.newBuilder().maximumSize(entries).build(key -> load(millis));
        CountDownLatch gate = new CountDownLatch(1);
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            threads[i] = new Thread(
                    () -> {
                        try {
                            gate.await();
                        } catch (InterruptedException interrupted) {
                            return;
                        }
                        ask(cache, entries, millis);
                    },
                    "request-" + i);
            threads[i].start();
        }
        gate.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(LOADS.sum() + " " + LOADED_NS.sum() + " " + WAITED_NS.sum() + " " + WAITS.sum());
    }
}
