package headway.bench;

import org.mozilla.javascript.Context;
import org.mozilla.javascript.Script;
import org.mozilla.javascript.ScriptableObject;

/** Rhino runs JavaScript on the JVM. An item is one run of a small program in a scope of its own. */
final class Rhino implements Program {
  private static final String CODE =
      """
      function sieve(n) {
        var composite = [], primes = [];
        for (var i = 2; i < n; i++) {
          if (!composite[i]) { primes.push(i); for (var j = i * i; j < n; j += i) composite[j] = true; }
        }
        return primes.length;
      }
      function tree(depth) { return depth == 0 ? null : { left: tree(depth - 1), right: tree(depth - 1), value: depth }; }
      function sum(node) { return node == null ? 0 : node.value + sum(node.left) + sum(node.right); }
      function text(n) { var s = {}; for (var i = 0; i < n; i++) { var k = 'k' + i % 97; s[k] = (s[k] || '') + i; } return s; }
      if (sieve(20000) != 2262) throw 'wrong number of primes';
      for (var round = 0; round < 6; round++) { sum(tree(12)); text(3000); }
      """;

  @Override
  public void run(int threads, int items) throws Exception {
    Script script;
    try (Context context = Context.enter()) {
      script = context.compileString(CODE, "program", 1, null);
    }
    Workers.run(
        threads,
        items,
        (worker, item) -> {
          try (Context context = Context.enter()) {
            ScriptableObject scope = context.initStandardObjects();
            script.exec(context, scope);
          }
        });
  }
}
