package headway.test;

/** What inserted calls call while JVMs verify the classes that have them. */
public final class Hook {
  public static void hit(int point) {}

  public static void timed(int point) {}

  public static void leaving() {}

  public static void count(int counter) {}
}
