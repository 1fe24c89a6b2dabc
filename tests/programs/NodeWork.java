import java.io.FileWriter;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Two threads, or as many as the third argument says, work on arrays of their own until the file named by the second argument is
 * there; each round is a line of the first.
 */
final class NodeWork {
    private NodeWork() {}

    public static void main(String[] args) throws Exception {
        Path end = Path.of(args[1]);
        Thread[] workers = new Thread[args.length > 2 ? Integer.parseInt(args[2]) : 2];
        for (int number = 0; number < workers.length; number++) {
            workers[number] = new Thread(() -> work(args[0], end), "worker-" + number);
            workers[number].start();
        }
        for (Thread worker : workers) {
            worker.join();
        }
    }

    private static void work(String log, Path end) {
        try (FileWriter lines = new FileWriter(log, true)) {
            long[] values = new long[1 << 18];
            while (!Files.exists(end)) {
                for (int i = 0; i < values.length; i++) {
                    values[i] += i ^ values[(i * 31) & (values.length - 1)];
                }
                lines.write("round\n");
                lines.flush();
            }
        } catch (java.io.IOException error) {
            throw new java.io.UncheckedIOException(error);
        }
    }
}
