import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;

/** A thread that faults pages in, and how many the kernel counted for it; beside it one that does not. */
public final class Faults {
    private static final int PAGE = 4096;
    private static volatile long sink;

    private Faults() {}

    public static void main(String[] args) throws Exception {
        Thread other = new Thread(Faults::computes, "computer");
        Thread toucher = new Thread(() -> touches(Integer.parseInt(args[0])), "toucher");
        other.start();
        toucher.start();
        toucher.join();
        other.join();
    }

    private static void touches(int megabytes) {
        long before = faults();
        fill(megabytes);
        System.out.println("{\"faults\": " + (faults() - before) + "}");
    }

    private static void fill(int megabytes) {
        for (int i = 0; i < megabytes; i++) {
            ByteBuffer pages = ByteBuffer.allocateDirect(1 << 20);
            for (int at = 0; at < pages.capacity(); at += PAGE) {
                pages.put(at, (byte) 1);
            }
        }
    }

    private static void computes() {
        long x = 1;
        for (int i = 0; i < 300_000_000; i++) {
            x = x * 6364136223846793005L + 1442695040888963407L;
        }
        sink = x;
    }

    /** The tenth field: minor faults of this thread. */
    private static long faults() {
        try {
            String stat = Files.readString(Path.of("/proc/thread-self/stat"));
            return Long.parseLong(stat.substring(stat.lastIndexOf(')') + 2).split(" ")[7]);
        } catch (IOException impossible) {
            throw new IllegalStateException(impossible);
        }
    }
}
