import java.nio.file.Files;
import java.nio.file.Path;

/** Writes the class files of the JVM's own classes into a folder: FOLDER CLASS... */
public final class ClassFiles {
    public static void main(String[] args) throws Exception {
        for (int at = 1; at < args.length; at++) {
            String file = args[at].replace('.', '/') + ".class";
            Module module = Class.forName(args[at], false, null).getModule();
            Path written = Path.of(args[0], file);
            Files.createDirectories(written.getParent());
            try (var bytes = module.getResourceAsStream(file)) {
                Files.write(written, bytes.readAllBytes());
            }
        }
    }
}
