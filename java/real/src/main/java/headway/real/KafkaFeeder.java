package headway.real;

import java.io.FileWriter;
import java.io.PrintWriter;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Sends so many messages a second to a broker's port until its standard input ends; prints `sending`, and how many were sent and
 * acknowledged. With a third argument, a file: it gets a line for each acknowledged message, when it was due and when it was acknowledged
 * (System.nanoTime), as they come.
 */
public final class KafkaFeeder {
    public static void main(String[] args) throws Exception {
        long pauseNs = 1_000_000_000L / Long.parseLong(args[1]);
        Map<String, Object> settings = Map.of("bootstrap.servers", "127.0.0.1:" + args[0], "acks", "all");
        LongAdder acknowledged = new LongAdder();
        PrintWriter times = args.length > 2 ? new PrintWriter(new FileWriter(args[2]), true) : null;
        long sent = 0;
        ByteArraySerializer bytes = new ByteArraySerializer();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings, bytes, bytes)) {
            producer.send(new ProducerRecord<>("orders", new byte[100])).get();
            System.out.println("sending");
            long next = System.nanoTime();
            while (System.in.available() == 0) {
                long due = next;
                producer.send(
                        new ProducerRecord<>("orders", new byte[200]),
                        (metadata, failure) -> {
                            if (failure == null) {
                                acknowledged.increment();
                                if (times != null) {
                                    times.println(due + " " + System.nanoTime());
                                }
                            }
                        });
                sent++;
                next += pauseNs;
                long left = next - System.nanoTime();
                if (left > 0) {
                    Thread.sleep(left / 1_000_000, (int) (left % 1_000_000));
                }
            }
        }
        if (times != null) {
            times.close();
        }
        System.out.println(sent + " " + acknowledged.sum());
    }
}
