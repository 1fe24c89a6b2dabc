import java.io.RandomAccessFile;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads that contend for a lock, begin and end, while somebody cuts the files of their recording off.
 *
 * <p>Arguments: the file that says when to go on from the first half (made by the test); seconds of the second half;
 * whether it also cuts off a file of its own that it has mapped. Tells what it counted, and what that file's end did to it.
 */
final class CutOff {
    private static final int THREADS = 4;
    private static final ReentrantLock LOCK = new ReentrantLock(true);
    private static volatile boolean over;
    private static long counted;

    private static void work() {
        while (!over) {
            LOCK.lock();
            try {
                counted++;
            } finally {
                LOCK.unlock();
            }
            synchronized (LOCK) {
                Thread.onSpinWait();
            }
        }
    }

    private static String fault() throws Exception {
        Path path = Files.createTempFile("cut", ".own");
        try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw")) {
            file.setLength(1 << 16);
            MappedByteBuffer mapped = file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, 1 << 16);
            mapped.put(0, (byte) 1);
            file.setLength(0);
            try {
                for (int i = 0; i < 1 << 16; i++) {
                    mapped.put(i, (byte) 2);
                }
                return "nothing";
            } catch (InternalError e) {
                return e.getClass().getSimpleName();
            }
        } finally {
            Files.delete(path);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            threads[i] = new Thread(CutOff::work, "worker-" + i);
            threads[i].start();
        }
        String before = arguments[2].equals("fault") ? fault() : "";
        Path go = Path.of(arguments[0]);
        while (!Files.exists(go)) {
            Thread.sleep(5);
        }
        String after = arguments[2].equals("fault") ? fault() : "";
        long end = System.nanoTime() + (long) (Double.parseDouble(arguments[1]) * 1e9);
        for (int i = 0; System.nanoTime() < end; i++) {
            Thread brief = new Thread(() -> { }, "brief-" + i);
            brief.start();
            brief.join();
            if (i % 100 == 0) {
                System.gc();
            }
        }
        over = true;
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("counted " + (counted > 0) + " " + before + after);
        System.exit(7);
    }
}
