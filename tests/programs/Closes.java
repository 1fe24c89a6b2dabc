import java.io.FileOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Closes descriptors that it did not open, as daemons do, takes their numbers for files of its own, and goes on working
 * until a file called stop is there. At last it tells what has become of its files.
 *
 * <p>Arguments: a folder for its files, the agent's folder. Needs --add-opens java.base/java.io=ALL-UNNAMED.
 */
final class Closes {
    private static final int MANY = 256;
    private static volatile boolean stops;
    private static volatile long sink;

    static void visited() {}

    static void work() {
        for (long x = 1; !stops; x = spin(x)) {
            visited();
            sink = x;
        }
    }

    private static long spin(long x) {
        for (int i = 0; i < 200_000; i++) {
            x = x * 6364136223846793005L + 1442695040888963407L;
        }
        return x;
    }

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            threads.add(new Thread(Closes::work, "worker-" + i));
            threads.get(i).start();
        }
        await(folder.resolve("close"));
        List<Integer> closed = Descriptors.to(target -> target.contains("perf_event") || target.startsWith(arguments[1]));
        for (int number : closed) {
            Descriptors.close(number);
        }
        List<FileOutputStream> files = new ArrayList<>();
        for (int i = 0; i < MANY; i++) {
            files.add(new FileOutputStream(folder.resolve("mine-" + i).toFile()));
            files.get(i).write('x');
        }
        int taken = 0;
        for (int number : closed) {
            taken += Descriptors.target(Path.of("/proc/self/fd/" + number)).startsWith(folder + "/mine-") ? 1 : 0;
        }
        System.out.println("{\"event\":\"closed\",\"count\":" + closed.size() + ",\"taken\":" + taken + "}");
        await(folder.resolve("stop"));
        stops = true;
        for (Thread thread : threads) {
            thread.join();
        }
        int spoilt = 0;
        for (int i = 0; i < MANY; i++) {
            files.get(i).write('y');
            files.get(i).close();
            spoilt += Files.readString(folder.resolve("mine-" + i)).equals("xy") ? 0 : 1;
        }
        System.out.println("{\"event\":\"ended\",\"spoilt\":" + spoilt + "}");
        System.out.flush();
    }

    private static void await(Path file) throws InterruptedException {
        while (!Files.exists(file)) {
            Thread.sleep(20);
        }
    }
}
