import java.io.FileOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * Parks, closes the descriptors of files that are not its own, as daemons do, takes their numbers for files of its own, and
 * goes on parking. At last it tells what has become of its files.
 *
 * <p>Arguments: a folder for its files; parks before and after. Needs --add-opens java.base/java.io=ALL-UNNAMED.
 */
final class LocksAndCloses {
    private static final int MANY = 64;

    private static final class Place {}

    private static boolean isOfLocks(String target) {
        return target.matches(".*/(agent|locks)-[0-9.]+(spool|table)");
    }

    private static void park(Place place, int times) {
        for (int i = 0; i < times; i++) {
            LockSupport.parkNanos(place, 1);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Path folder = Path.of(arguments[0]);
        Place place = new Place();
        park(place, Integer.parseInt(arguments[1]));
        List<Integer> closed = Descriptors.to(LocksAndCloses::isOfLocks);
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
        park(place, Integer.parseInt(arguments[2]));
        int spoilt = 0;
        for (int i = 0; i < MANY; i++) {
            files.get(i).write('y');
            files.get(i).close();
            spoilt += Files.readString(folder.resolve("mine-" + i)).equals("xy") ? 0 : 1;
        }
        System.out.println("{\"closed\":" + closed.size() + ",\"taken\":" + taken + ",\"spoilt\":" + spoilt
                + ",\"hash\":" + System.identityHashCode(place) + "}");
    }
}
