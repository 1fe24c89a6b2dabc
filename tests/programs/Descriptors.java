import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;

/** The descriptors of this process, also those that it did not open. Needs --add-opens java.base/java.io=ALL-UNNAMED. */
final class Descriptors {
    private Descriptors() {}

    static List<Integer> to(Predicate<String> isWanted) throws IOException {
        List<Integer> found = new ArrayList<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(Path.of("/proc/self/fd"))) {
            for (Path each : all) {
                if (isWanted.test(target(each))) {
                    found.add(Integer.parseInt(each.getFileName().toString()));
                }
            }
        }
        return found;
    }

    static String target(Path descriptor) {
        try {
            return Files.readSymbolicLink(descriptor).toString();
        } catch (IOException e) {
            return "";
        }
    }

    static void close(int number) throws Exception {
        FileDescriptor descriptor = new FileDescriptor();
        Field field = FileDescriptor.class.getDeclaredField("fd");
        field.setAccessible(true);
        field.setInt(descriptor, number);
        new FileOutputStream(descriptor).close();
    }
}
