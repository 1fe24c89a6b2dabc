import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;

/**
 * A program whose recording can be compared with what it counted itself: parks on an object, CPU time in one method.
 *
 * <p>Arguments: the file that says when to begin (made by the test); how often to park; milliseconds of CPU time;
 * whether it stays afterwards. It prints `ready`, then `parks N burnt_ns N cpu_ns N`: CPU time of that method, and of the whole
 * thread.
 */
final class Honest {
    /** What the thread parks on. */
    private static final class Place {}

    private static volatile int begun;
    private static double sink;

    private static void burns(ThreadMXBean clock, long nanos) {
        double sum = 0;
        for (long end = clock.getCurrentThreadCpuTime() + nanos; clock.getCurrentThreadCpuTime() < end;) {
            for (int i = 1; i < 20_000; i++) {
                sum += 1.0 / i;
            }
        }
        sink = sum;
    }

    private static void works(int parks, long nanos) {
        ThreadMXBean clock = ManagementFactory.getThreadMXBean();
        Place place = new Place();
        for (int i = 0; i < parks; i++) {
            begun++; // by this thread alone
            LockSupport.park(place);
        }
        long begin = clock.getCurrentThreadCpuTime();
        burns(clock, nanos);
        long end = clock.getCurrentThreadCpuTime();
        System.out.printf("parks %d burnt_ns %d cpu_ns %d%n", parks, end - begin, end);
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        while (!Files.exists(Path.of(arguments[0]))) {
            Thread.sleep(5);
        }
        int parks = Integer.parseInt(arguments[1]);
        long nanos = Long.parseLong(arguments[2]) * 1_000_000L;
        Thread worker = new Thread(() -> works(parks, nanos), "the worker whose name is longer than the kernel's");
        worker.start();
        for (int i = 0; i < parks; i++) { // each park waits for it: nothing is unparked before it has parked
            while (begun <= i || worker.getState() != Thread.State.WAITING) {
                Thread.onSpinWait();
            }
            LockSupport.unpark(worker);
        }
        worker.join();
        if (arguments.length > 3) {
            Thread.sleep(600_000);
        }
    }
}
