import java.lang.reflect.Method;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * Virtual threads that each write a watched place a known number of times, by a library. Prints "WAY ID WRITES" of each. Those that
 * write "apart" sleep on their carriers around each write; those that write "together" do it at once, between parks. Built for
 * JDK 17, hence by reflection.
 */
public final class VirtualWrites {
    private static final int THREADS = 6;

    private static native void write(int times, boolean apart);

    public static void main(String[] args) throws Exception {
        System.load(args[0]);
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        CountDownLatch done = new CountDownLatch(THREADS);
        StringBuffer said = new StringBuffer();
        for (int thread = 0; thread < THREADS; thread++) {
            boolean apart = thread % 2 == 0;
            int writes = 10 * (thread + 1) + thread;
            Runnable task = () -> {
                LockSupport.parkNanos(1_000_000);
                write(writes, apart);
                LockSupport.parkNanos(1_000_000);
                said.append(apart ? "apart " : "together ").append(Thread.currentThread().getId());
                said.append(' ').append(writes).append('\n');
                done.countDown();
            };
            start.invoke(null, task);
        }
        done.await();
        System.out.print(said);
    }
}
