import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Links every class below BEFORE and below AFTER, each in a loader of its own, and says where they differ: a class that
 * can't be linked because of what it needs can't be linked either way.
 *
 * <p>LoadAll BEFORE AFTER [what else is on the class path]
 */
public final class LoadAll {
  public static void main(String[] arguments) throws Exception {
    Path before = Path.of(arguments[0]);
    Path after = Path.of(arguments[1]);
    List<URL> rest = new ArrayList<>();
    for (int i = 2; i < arguments.length; i++) {
      rest.add(Path.of(arguments[i]).toUri().toURL());
    }
    int linked = 0;
    int different = 0;
    try (URLClassLoader old = new Own(before, rest);
        URLClassLoader changed = new Own(after, rest)) {
      for (String name : names(before)) {
        String expected = link(old, name);
        String found = link(changed, name);
        if (expected.isEmpty() && found.isEmpty()) {
          linked++;
        } else if (!expected.equals(found)) {
          different++;
          System.out.println(name + ": " + expected + " / " + found);
        }
      }
    }
    System.out.println(linked + " linked, " + different + " different");
    System.exit(different == 0 && linked > 0 ? 0 : 1);
  }

  /** Its own classes first: those of the JDK under test are visible through the parent. */
  private static final class Own extends URLClassLoader {
    Own(Path directory, List<URL> rest) throws IOException {
      super(Stream.concat(Stream.of(directory.toUri().toURL()), rest.stream()).toArray(URL[]::new), LoadAll.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      synchronized (getClassLoadingLock(name)) {
        Class<?> type = findLoadedClass(name);
        if (type == null && !name.startsWith("java.")) {
          try {
            type = findClass(name);
          } catch (ClassNotFoundException ignored) {
            type = null;
          }
        }
        return type != null ? type : super.loadClass(name, resolve);
      }
    }
  }

  private static List<String> names(Path directory) throws IOException {
    try (Stream<Path> files = Files.walk(directory)) {
      return files
          .map(file -> directory.relativize(file).toString())
          .filter(name -> name.endsWith(".class") && !name.endsWith("-info.class") && !name.startsWith("META-INF"))
          .map(name -> name.substring(0, name.length() - ".class".length()).replace('/', '.'))
          .sorted()
          .toList();
    }
  }

  /** What went wrong, or nothing. */
  private static String link(ClassLoader loader, String name) {
    try {
      Class.forName(name, false, loader).getDeclaredMethods(); // which links, and so verifies
      return "";
    } catch (VerifyError | ClassFormatError error) {
      return error.toString();
    } catch (Throwable error) { // something is missing, whichever of several is found first
      return "missing";
    }
  }
}
