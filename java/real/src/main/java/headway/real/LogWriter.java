package headway.real;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.Logger;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.logging.log4j.core.config.builder.api.AppenderComponentBuilder;
import org.apache.logging.log4j.core.config.builder.api.ConfigurationBuilder;
import org.apache.logging.log4j.core.config.builder.api.ConfigurationBuilderFactory;
import org.apache.logging.log4j.core.config.builder.impl.BuiltConfiguration;

/**
 * Log4j and threads that log. Arguments: threads, messages of each, length of a message, a file, and whether all write to it (`shared`), each
 * to one of its own (`own`), or all to a queue before a thread that writes (`queue`). Prints the wall time in ns, and how long the threads
 * were blocked and waited in ms.
 */
public final class LogWriter {
    private static final int QUEUE = 16;

    private static BuiltConfiguration configuration(String file, int files, boolean async) {
        ConfigurationBuilder<BuiltConfiguration> builder = ConfigurationBuilderFactory.newConfigurationBuilder();
        builder.setStatusLevel(Level.ERROR);
        builder.add(builder.newRootLogger(Level.INFO));
        for (int i = 0; i < files; i++) {
            AppenderComponentBuilder target = builder.newAppender("file" + i, "File");
            target.addAttribute("fileName", file + i).addAttribute("immediateFlush", true);
            target.add(builder.newLayout("PatternLayout").addAttribute("pattern", "%d %t %c %m%n"));
            builder.add(target);
            builder.add(
                    builder.newLogger("shop" + i, Level.INFO)
                            .add(builder.newAppenderRef(async ? "queue" : "file" + i))
                            .addAttribute("additivity", false));
        }
        if (async) {
            AppenderComponentBuilder queue = builder.newAppender("queue", "Async").addAttribute("bufferSize", QUEUE);
            builder.add(queue.addComponent(builder.newComponent("AppenderRef").addAttribute("ref", "file0")));
        }
        return builder.build();
    }

    public static void main(String[] args) throws Exception {
        int messages = Integer.parseInt(args[1]);
        String message = "x".repeat(Integer.parseInt(args[2]));
        int count = Integer.parseInt(args[0]);
        int files = args[4].equals("own") ? count : 1;
        LoggerContext context = Configurator.initialize(configuration(args[3], files, args[4].equals("queue")));
        ThreadMXBean beans = ManagementFactory.getThreadMXBean();
        beans.setThreadContentionMonitoringEnabled(true);
        Thread[] threads = new Thread[count];
        Map<Long, ThreadInfo> at = new ConcurrentHashMap<>();
        long began = System.nanoTime();
        for (int i = 0; i < count; i++) {
            Logger logger = context.getLogger("shop" + i % files);
            threads[i] =
                    new Thread(
                            () -> {
                                for (int number = 0; number < messages; number++) {
                                    logger.info(message);
                                }
                                long id = Thread.currentThread().getId();
                                at.put(id, beans.getThreadInfo(id));
                            },
                            "handler-" + i);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        long wall = System.nanoTime() - began;
        long blocked = at.values().stream().mapToLong(ThreadInfo::getBlockedTime).sum();
        long waited = at.values().stream().mapToLong(ThreadInfo::getWaitedTime).sum();
        context.stop();
        System.out.println(wall + " " + blocked + " " + waited);
    }
}
