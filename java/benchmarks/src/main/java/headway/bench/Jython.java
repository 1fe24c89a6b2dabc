package headway.bench;

import java.util.Properties;
import org.python.util.PythonInterpreter;

/** Jython runs Python code on the JVM; each worker has an interpreter. An item is one run of a small program. */
final class Jython implements Program {
  private static final String CODE =
      """
      def queens(n):
          found = [0]
          def place(row, columns, left, right):
              if row == n:
                  found[0] += 1
                  return
              for c in range(n):
                  if c not in columns and row + c not in left and row - c not in right:
                      place(row + 1, columns | {c}, left | {row + c}, right | {row - c})
          place(0, frozenset(), frozenset(), frozenset())
          return found[0]

      def words(n):
          counts = {}
          for i in range(n):
              word = 'w%d' % (i * 7919 % 613)
              counts[word] = counts.get(word, 0) + 1
          return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[0]

      def main():
          assert queens(7) == 40
          words(8000)
      """;

  @Override
  public void run(int threads, int items) throws Exception {
    Properties properties = new Properties();
    properties.setProperty("python.cachedir.skip", "true");
    properties.setProperty("python.import.site", "false");
    PythonInterpreter.initialize(System.getProperties(), properties, new String[0]);
    PythonInterpreter[] interpreters = new PythonInterpreter[threads];
    Workers.run(
        threads,
        items,
        (worker, item) -> {
          if (interpreters[worker] == null) {
            interpreters[worker] = new PythonInterpreter();
            interpreters[worker].exec(CODE);
          }
          interpreters[worker].exec("main()");
        });
  }
}
