package headway.bench;

import net.sourceforge.pmd.PMDConfiguration;
import net.sourceforge.pmd.PmdAnalysis;
import net.sourceforge.pmd.lang.document.FileId;

/** PMD looks for mistakes in Java sources, with its own worker threads. An item is one generated class. */
final class Pmd implements Program {
  private String[] sources;

  @Override
  public void prepare(int threads, int items) {
    sources = new String[items];
    for (int item = 0; item < items; item++) {
      sources[item] = source(item);
    }
  }

  @Override
  public void run(int threads, int items) {
    PMDConfiguration config = new PMDConfiguration();
    config.setThreads(threads);
    config.setIgnoreIncrementalAnalysis(true);
    for (String category : new String[] {"bestpractices", "codestyle", "design", "errorprone"}) {
      config.addRuleSet("category/java/" + category + ".xml");
    }
    try (PmdAnalysis analysis = PmdAnalysis.create(config)) {
      for (int item = 0; item < items; item++) {
        analysis.files().addSourceFile(FileId.fromPathLikeString("C" + item + ".java"), sources[item]);
      }
      if (analysis.performAnalysisAndCollectReport().getViolations().isEmpty()) {
        throw new IllegalStateException("PMD found nothing: it did not work");
      }
    }
  }

  private static String source(int item) {
    Text text = new Text(item);
    StringBuilder source = new StringBuilder("import java.util.*;\npublic class C" + item + " {\n");
    for (int m = 0; m < 12; m++) {
      String name = text.word() + m;
      source.append(
          """
            private int f%1$s = %2$d;
            public List<String> %1$s(int n, String s) {
              List<String> out = new ArrayList<>();
              for (int i = 0; i < n; i++) {
                if (i %% %3$d == 0 && s != null) { out.add(s + i); } else if (n > f%1$s) { f%1$s += i; }
                try { out.add(String.valueOf(Integer.parseInt(s))); } catch (NumberFormatException e) { }
              }
              switch (n) { case 1: return out; default: break; }
              return n > 3 ? new ArrayList<>(out) : null;
            }
          """
              .formatted(name, text.number(100), 2 + text.number(9)));
    }
    return source.append("}\n").toString();
  }
}
