import java.io.FileInputStream;
import java.io.IOException;

/** A thread "reader" that has the kernel make zeros, and a thread "computer" that computes, for a second of time each. */
public final class KernelTime {
    private static volatile double sink;

    private KernelTime() {}

    public static void main(String[] args) throws InterruptedException {
        Thread reader = new Thread(KernelTime::read, "reader");
        Thread computer = new Thread(KernelTime::compute, "computer");
        reader.start();
        computer.start();
        reader.join();
        computer.join();
    }

    private static void read() {
        byte[] zeros = new byte[1 << 20];
        long end = System.nanoTime() + 1_000_000_000L;
        try (FileInputStream file = new FileInputStream("/dev/zero")) {
            while (System.nanoTime() < end) {
                sink = file.read(zeros);
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void compute() {
        long end = System.nanoTime() + 1_000_000_000L;
        for (double x = 1; System.nanoTime() < end; sink = x) {
            for (int i = 0; i < 10_000; i++) {
                x = x * 1.0000001 + 1e-9;
            }
        }
    }
}
