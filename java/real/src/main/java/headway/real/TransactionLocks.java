package headway.real;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.atomic.LongAdder;

/**
 * An in-memory database and some threads that each make so many transactions: an update, then a pause (the client that computes what to do
 * next), then the commit. All update one row of one table, or each that of a table of its own. Arguments: JDBC URL, threads, transactions of
 * each, pause in ms, `shared` or `own`. Prints the wall time in ns of all threads, how long their updates took, how long the transactions
 * that followed, and the sum of the rows.
 */
public final class TransactionLocks {
    private static final LongAdder UPDATES_NS = new LongAdder();
    private static final LongAdder HELD_NS = new LongAdder();

    static void transfer(Connection connection, PreparedStatement update, int pauseMs) throws SQLException, InterruptedException {
        long began = System.nanoTime();
        update.executeUpdate();
        long locked = System.nanoTime();
        Thread.sleep(pauseMs);
        connection.commit();
        UPDATES_NS.add(locked - began);
        HELD_NS.add(System.nanoTime() - locked);
    }

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[1]);
        int transactions = Integer.parseInt(args[2]);
        int pauseMs = Integer.parseInt(args[3]);
        boolean shared = args[4].equals("shared");
        try (Connection setUp = DriverManager.getConnection(args[0], "SA", "");
                Statement statement = setUp.createStatement()) {
            for (int i = 0; i < count; i++) {
                statement.execute("CREATE TABLE ACCOUNT" + i + " (ID INTEGER PRIMARY KEY, AMOUNT INTEGER)");
                statement.execute("INSERT INTO ACCOUNT" + i + " VALUES (1, 0)");
            }
            long began = System.nanoTime();
            Thread[] threads = new Thread[count];
            for (int i = 0; i < count; i++) {
                String table = "ACCOUNT" + (shared ? 0 : i);
                threads[i] =
                        new Thread(
                                () -> {
                                    try (Connection connection = DriverManager.getConnection(args[0], "SA", "")) {
                                        connection.setAutoCommit(false);
                                        try (PreparedStatement update =
                                                connection.prepareStatement("UPDATE " + table + " SET AMOUNT = AMOUNT + 1 WHERE ID = 1")) {
                                            for (int number = 0; number < transactions; number++) {
                                                transfer(connection, update, pauseMs);
                                            }
                                        }
                                    } catch (SQLException | InterruptedException e) {
                                        throw new IllegalStateException(e);
                                    }
                                },
                                "client-" + i);
                threads[i].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
            long wall = System.nanoTime() - began;
            long sum = 0;
            for (int i = 0; i < count; i++) {
                try (var rows = statement.executeQuery("SELECT AMOUNT FROM ACCOUNT" + i)) {
                    rows.next();
                    sum += rows.getInt(1);
                }
            }
            System.out.println(wall + " " + UPDATES_NS.sum() + " " + HELD_NS.sum() + " " + sum);
        }
    }
}
