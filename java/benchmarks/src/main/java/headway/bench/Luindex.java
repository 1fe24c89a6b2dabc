package headway.bench;

import java.io.IOException;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.store.Directory;

/** Lucene builds a full-text index: all workers add documents to one writer. An item is a document of 200 words. */
final class Luindex implements Program {
  @Override
  public void run(int threads, int items) throws Exception {
    index(new ByteBuffersDirectory(), threads, items);
  }

  /** Fills {@code directory} with {@code items} documents. */
  static void index(Directory directory, int threads, int items) throws Exception {
    IndexWriterConfig config = new IndexWriterConfig(new StandardAnalyzer()).setRAMBufferSizeMB(16);
    try (IndexWriter writer = new IndexWriter(directory, config)) {
      Workers.run(threads, items, (worker, item) -> writer.addDocument(document(item)));
      writer.forceMerge(1);
    }
  }

  private static Document document(int item) throws IOException {
    Document document = new Document();
    document.add(new StringField("id", Integer.toString(item), Field.Store.YES));
    document.add(new TextField("body", new Text(item).words(200), Field.Store.NO));
    return document;
  }
}
