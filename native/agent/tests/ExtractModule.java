import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** Writes all class files of a module, as this JVM has them: DIR/package/NAME.class. */
public final class ExtractModule {
  public static void main(String[] arguments) throws Exception {
    Path directory = Path.of(arguments[0]);
    Path module = FileSystems.getFileSystem(URI.create("jrt:/")).getPath("modules", arguments[1]);
    List<Path> files;
    try (Stream<Path> all = Files.walk(module)) {
      files = all.filter(file -> file.toString().endsWith(".class")).toList();
    }
    for (Path file : files) {
      Path copy = directory.resolve(module.relativize(file).toString());
      Files.createDirectories(copy.getParent());
      Files.write(copy, Files.readAllBytes(file));
    }
  }
}
