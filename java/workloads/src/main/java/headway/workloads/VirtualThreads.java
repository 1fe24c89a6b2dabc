package headway.workloads;

import java.lang.reflect.Method;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Virtual threads that compute and block in turn. Reached by reflection, because this jar is built for JDK 17; there it says
 * that there are none.
 *
 * <p>Arguments: virtual threads (200); naps of each (5); microseconds of CPU time between naps (200).
 */
public final class VirtualThreads {
    private VirtualThreads() {}

    public static void main(String[] args) throws ReflectiveOperationException {
        int count = Work.argument(args, 0, 200);
        int naps = Work.argument(args, 1, 5);
        int micros = Work.argument(args, 2, 200);
        if (Runtime.version().feature() < 21) {
            Report.of("virtual_threads").put("supported", false).print();
            return;
        }
        AtomicLong done = new AtomicLong();
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        Thread[] threads = new Thread[count];
        long begin = System.nanoTime();
        for (int i = 0; i < count; i++) {
            Runnable task = () -> {
                nap(naps, micros);
                done.incrementAndGet();
            };
            threads[i] = (Thread) start.invoke(null, task);
        }
        for (Thread thread : threads) {
            Work.join(thread);
        }
        Report.of("virtual_threads").put("supported", true).put("threads", done.get()).put("begin_ns", begin)
                .put("end_ns", System.nanoTime()).print();
    }

    private static void nap(int naps, int micros) {
        try {
            for (int i = 0; i < naps; i++) {
                // A virtual thread has no CPU clock of its own: a fixed amount of work instead.
                Work.sink = Work.spin(1.0, micros * 500);
                Thread.sleep(1);
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
