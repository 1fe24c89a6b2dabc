package headway.bench;

import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.queryparser.classic.QueryParser;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.store.Directory;

/** Lucene answers queries: terms, phrases, prefixes, fuzzy words. An item is a query; one thread builds the index first. */
final class Lusearch implements Program {
  private static final int DOCUMENTS = 6000;

  private final Directory directory = new ByteBuffersDirectory();

  @Override
  public void prepare(int threads, int items) throws Exception {
    Luindex.index(directory, 1, DOCUMENTS);
  }

  @Override
  public void run(int threads, int items) throws Exception {
    try (DirectoryReader reader = DirectoryReader.open(directory)) {
      IndexSearcher searcher = new IndexSearcher(reader);
      Workers.run(
          threads,
          items,
          (worker, item) -> {
            QueryParser parser = new QueryParser("body", new StandardAnalyzer());
            searcher.search(parser.parse(query(item)), 20);
          });
    }
  }

  private static String query(int item) {
    Text text = new Text(1_000_000L + item);
    return switch (item % 4) {
      case 0 -> text.word() + " " + text.word();
      case 1 -> "+" + text.word() + " +" + text.word() + " -" + text.word();
      case 2 -> "\"" + text.word() + " " + text.word() + "\"~4";
      default -> text.word() + "~1 " + text.word() + "*";
    };
  }
}
