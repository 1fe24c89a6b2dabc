package headway.real;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.atomic.LongAdder;

/**
 * HikariCP with a pool of so many connections to an in-memory H2, and sixteen threads that each make so many requests of a query that takes
 * so many milliseconds (5). Prints the wall time, how long the threads waited for a connection and how long they had one, in ns, and the rows.
 */
public final class ConnectionPool {
    private static final int THREADS = 16;
    private static final LongAdder WAITED_NS = new LongAdder();
    private static final LongAdder USED_NS = new LongAdder();
    private static final LongAdder ROWS = new LongAdder();

    /** What the database calls for its function PAUSE: a query that waits for a disk. */
    public static int pause(int ms) throws InterruptedException {
        Thread.sleep(ms);
        return ms;
    }

    static void handle(HikariDataSource pool, String query) throws SQLException {
        long began = System.nanoTime();
        try (Connection connection = pool.getConnection()) {
            WAITED_NS.add(System.nanoTime() - began);
            began = System.nanoTime();
            try (Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery(query)) {
                while (rows.next()) {
                    ROWS.increment();
                }
            }
            USED_NS.add(System.nanoTime() - began);
        }
    }

    public static void main(String[] args) throws Exception {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:h2:mem:pool;DB_CLOSE_DELAY=-1");
        config.setMaximumPoolSize(Integer.parseInt(args[0]));
        int requests = Integer.parseInt(args[1]);
        String query = "SELECT PAUSE(" + (args.length > 2 ? Integer.parseInt(args[2]) : 5) + ")";
        try (HikariDataSource pool = new HikariDataSource(config)) {
            try (Connection connection = pool.getConnection();
                    Statement statement = connection.createStatement()) {
                statement.execute("CREATE ALIAS PAUSE FOR 'headway.real.ConnectionPool.pause'");
            }
            // HikariCP opens one connection after the other: threads that come before the last one wait in a large pool, too.
            while (pool.getHikariPoolMXBean().getIdleConnections() < config.getMaximumPoolSize()) {
                Thread.sleep(1);
            }
            Thread[] threads = new Thread[THREADS];
            long began = System.nanoTime();
            for (int i = 0; i < THREADS; i++) {
                threads[i] =
                        new Thread(
                                () -> {
                                    try {
                                        for (int request = 0; request < requests; request++) {
                                            handle(pool, query);
                                        }
                                    } catch (SQLException e) {
                                        throw new IllegalStateException(e);
                                    }
                                },
                                "http-" + i);
                threads[i].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            System.out.println((System.nanoTime() - began) + " " + WAITED_NS.sum() + " " + USED_NS.sum() + " " + ROWS.sum());
        }
    }
}
