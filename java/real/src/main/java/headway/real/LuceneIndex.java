package headway.real;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Random;
import java.util.concurrent.atomic.LongAdder;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.store.ByteBuffersDirectory;

/**
 * Lucene: so many threads index so many documents each, then all is merged into one segment, unless a third argument says `apart`. Prints how long the threads took and how long
 * the merge, in ns by its own clock, how long the threads had the CPU by the JVM's, and how many documents are in the index.
 */
public final class LuceneIndex {
    private static final int WORDS = 120;
    private static final LongAdder CPU_NS = new LongAdder();

    static String text(Random random) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < WORDS; i++) {
            text.append('w').append(Integer.toString((int) Math.abs(random.nextGaussian() * 20000), 36)).append(' ');
        }
        return text.toString();
    }

    static void index(IndexWriter writer, int seed, int documents) throws Exception {
        Random random = new Random(seed);
        for (int i = 0; i < documents; i++) {
            Document document = new Document();
            document.add(new TextField("body", text(random), Field.Store.YES));
            writer.addDocument(document);
        }
    }

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[0]);
        int documents = Integer.parseInt(args[1]);
        ThreadMXBean beans = ManagementFactory.getThreadMXBean();
        try (ByteBuffersDirectory directory = new ByteBuffersDirectory()) {
            try (IndexWriter writer = new IndexWriter(directory, new IndexWriterConfig(new StandardAnalyzer()).setRAMBufferSizeMB(8))) {
                Thread[] threads = new Thread[count];
                long began = System.nanoTime();
                for (int i = 0; i < count; i++) {
                    int seed = i;
                    threads[i] =
                            new Thread(
                                    () -> {
                                        try {
                                            index(writer, seed, documents);
                                        } catch (Exception e) {
                                            throw new IllegalStateException(e);
                                        }
                                        CPU_NS.add(beans.getCurrentThreadCpuTime());
                                    },
                                    "indexer-" + i);
                    threads[i].start();
                }
                for (Thread thread : threads) {
                    thread.join();
                }
                long indexed = System.nanoTime();
                if (args.length < 3 || !args[2].equals("apart")) {
                    writer.forceMerge(1);
                }
                System.out.print((indexed - began) + " " + (System.nanoTime() - indexed));
            }
            try (DirectoryReader reader = DirectoryReader.open(directory)) {
                System.out.println(" " + CPU_NS.sum() + " " + reader.numDocs());
            }
        }
    }
}
