package headway.real;

import java.lang.management.ManagementFactory;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.Properties;
import javax.management.MBeanServer;
import javax.management.ObjectName;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.common.utils.Time;

/**
 * A Kafka broker that is its own controller, in the directory given. Prints its port; for each line of its standard input, how long its
 * request handlers were idle so far and how long they could have been, by its own meter, and how many messages came in. Ends with its input.
 */
public final class KafkaBroker {
    private static final int HANDLERS = 8;

    static int freePort() throws Exception {
        try (ServerSocket socket = new ServerSocket(0)) {
            return socket.getLocalPort();
        }
    }

    private static long count(String type, String name) throws Exception {
        MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
        return ((Number) beans.getAttribute(new ObjectName("kafka.server:type=" + type + ",name=" + name), "Count")).longValue();
    }

    public static void main(String[] args) throws Exception {
        Path directory = Path.of(args[0]);
        int port = freePort();
        int controller = freePort();
        Files.writeString(directory.resolve("meta.properties"), "version=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\nnode.id=1\n");
        Properties properties = new Properties();
        properties.putAll(
                Map.of(
                        "process.roles", "broker,controller",
                        "node.id", "1",
                        "controller.quorum.voters", "1@127.0.0.1:" + controller,
                        "listeners", "PLAINTEXT://127.0.0.1:" + port + ",CONTROLLER://127.0.0.1:" + controller,
                        "controller.listener.names", "CONTROLLER",
                        "log.dirs", directory.toString(),
                        "num.io.threads", Integer.toString(HANDLERS),
                        "offsets.topic.replication.factor", "1",
                        "controlled.shutdown.enable", "false",
                        "num.partitions", "3"));
        KafkaRaftServer server = new KafkaRaftServer(new KafkaConfig(properties, false), Time.SYSTEM);
        server.startup();
        System.out.println(port);
        while (true) {
            int c = System.in.read();
            if (c < 0) {
                break;
            }
            if (c == '\n') {
                long idle = count("KafkaRequestHandlerPool", "RequestHandlerAvgIdlePercent");
                long messages = count("BrokerTopicMetrics", "MessagesInPerSec");
                System.out.println(idle + " " + System.nanoTime() + " " + messages);
            }
        }
        server.shutdown();
        server.awaitShutdown();
        System.out.println("ended");
    }
}
