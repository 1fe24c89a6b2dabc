package headway.bench;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.SplittableRandom;

/** H2, the SQL database, in memory: bank transfers and reports in transactions. An item is 50 transactions. */
final class H2 implements Program {
  private static final int ACCOUNTS = 40_000;
  private static final int TRANSACTIONS_PER_ITEM = 50;
  private static final String URL = "jdbc:h2:mem:bank;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=60000";

  @Override
  public void prepare(int threads, int items) throws SQLException {
    try (Connection connection = DriverManager.getConnection(URL);
        Statement statement = connection.createStatement()) {
      statement.execute("CREATE TABLE account (id INT PRIMARY KEY, branch INT, balance BIGINT)");
      statement.execute("CREATE TABLE history (id BIGINT AUTO_INCREMENT PRIMARY KEY, account INT, amount INT)");
      statement.execute("INSERT INTO account SELECT x, MOD(x, 200), 1000 FROM system_range(0, " + (ACCOUNTS - 1) + ")");
      statement.execute("CREATE INDEX by_branch ON account (branch)");
    }
  }

  @Override
  public void run(int threads, int items) throws Exception {
    Connection[] connections = new Connection[threads];
    for (int i = 0; i < threads; i++) {
      connections[i] = DriverManager.getConnection(URL);
      connections[i].setAutoCommit(false);
    }
    try (Statement statement = connections[0].createStatement()) {
      statement.execute("TRUNCATE TABLE history RESTART IDENTITY"); // what an earlier run left
      connections[0].commit();
    }
    Workers.run(threads, items, (worker, item) -> transactions(connections[worker], worker, threads, item));
    for (Connection connection : connections) {
      connection.close();
    }
  }

  private static void transactions(Connection connection, int worker, int threads, int item) throws SQLException {
    SplittableRandom random = new SplittableRandom(item);
    try (PreparedStatement update = connection.prepareStatement("UPDATE account SET balance = balance + ? WHERE id = ?");
        PreparedStatement insert = connection.prepareStatement("INSERT INTO history (account, amount) VALUES (?, ?)");
        PreparedStatement report = connection.prepareStatement("SELECT SUM(balance), MAX(balance) FROM account WHERE branch = ?")) {
      for (int i = 0; i < TRANSACTIONS_PER_ITEM; i++) {
        // Each worker has accounts of its own, so that the work does not depend on who waits for whom.
        int account = random.nextInt(ACCOUNTS / threads) * threads + worker;
        int amount = random.nextInt(100);
        update.setInt(1, amount);
        update.setInt(2, account);
        update.executeUpdate();
        insert.setInt(1, account);
        insert.setInt(2, amount);
        insert.executeUpdate();
        report.setInt(1, account % 200);
        try (ResultSet result = report.executeQuery()) {
          result.next();
        }
        connection.commit();
      }
    }
  }
}
