package headway.real;

import java.util.List;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/**
 * A Spark job on local[4]: rows are grouped by key and each group is summed up, and one key has 80 % of the rows. Arguments: rows, and the
 * directory of the event log. Prints the checksum.
 */
public final class SkewedJob {
    private static final int TASKS = 4;
    private static final int KEYS = 40;

    /** What the job computes of a group. The numbers lie in an array of ours, so that the compiler has nobody else's code in the loop. */
    static long weigh(Iterable<Integer> rows) {
        int[] numbers = StreamSupport.stream(rows.spliterator(), false).mapToInt(Integer::intValue).toArray();
        long sum = 0;
        for (int number : numbers) {
            long x = number;
            for (int i = 0; i < 4000; i++) {
                x = x * 6364136223846793005L + 1442695040888963407L;
                x ^= x >>> 29;
            }
            sum += x;
        }
        return sum;
    }

    public static void main(String[] args) {
        int rows = Integer.parseInt(args[0]);
        SparkConf conf =
                new SparkConf()
                        .setMaster("local[" + TASKS + "]")
                        .setAppName("skewed")
                        .set("spark.ui.enabled", "false")
                        .set("spark.driver.host", "127.0.0.1")
                        .set("spark.eventLog.enabled", "true")
                        .set("spark.eventLog.dir", args[1]);
        try (JavaSparkContext spark = new JavaSparkContext(conf)) {
            JavaPairRDD<Integer, Integer> byKey =
                    spark.parallelize(List.of(0, 1, 2, 3), TASKS)
                            .flatMapToPair(
                                    part ->
                                            IntStream.range(part * rows / TASKS, (part + 1) * rows / TASKS)
                                                    .mapToObj(i -> new Tuple2<>(i % 5 == 0 ? i % KEYS : 1, i))
                                                    .iterator());
            long check = byKey.groupByKey(TASKS).mapValues(SkewedJob::weigh).values().reduce((a, b) -> a ^ b);
            System.out.println(check);
        }
    }
}
