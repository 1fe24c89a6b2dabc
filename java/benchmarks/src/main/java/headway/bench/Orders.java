package headway.bench;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.SplittableRandom;

/**
 * New orders and payments as in TPC-C, in H2, in memory, on few warehouses: transactions want the same rows and fail. {@link
 * Backoff} tries them again after a while.
 */
final class Orders implements AutoCloseable {
  private static final int DISTRICTS = 10;
  private static final int CUSTOMERS = 300;
  private static final int ITEMS = 2000;
  private static final int LINES = 8;
  private static final int KEPT = 50; // orders of a district: the database does not grow

  private final Connection connection;
  private final SplittableRandom random;
  private final int warehouses;
  private final PreparedStatement lockWarehouse;
  private final PreparedStatement takeOrderId;
  private final PreparedStatement orderId;
  private final PreparedStatement insertOrder;
  private final PreparedStatement insertLine;
  private final PreparedStatement deleteOrder;
  private final PreparedStatement deleteLines;
  private final PreparedStatement takeStock;
  private final PreparedStatement payWarehouse;
  private final PreparedStatement payDistrict;
  private final PreparedStatement payCustomer;

  /** One connection, for one thread. */
  Orders(String url, int seed, int warehouses) throws SQLException {
    this.connection = DriverManager.getConnection(url);
    this.connection.setAutoCommit(false);
    this.random = new SplittableRandom(seed);
    this.warehouses = warehouses;
    // Who comes second fails at once, as where whole tables are locked, and does not wait inside H2.
    lockWarehouse = connection.prepareStatement("SELECT ytd FROM warehouse WHERE w = ? FOR UPDATE NOWAIT");
    takeOrderId = connection.prepareStatement("UPDATE district SET next_order = next_order + 1 WHERE w = ? AND d = ?");
    orderId = connection.prepareStatement("SELECT next_order FROM district WHERE w = ? AND d = ?");
    insertOrder = connection.prepareStatement("INSERT INTO orders (w, d, o, c) VALUES (?, ?, ?, ?)");
    insertLine = connection.prepareStatement("INSERT INTO order_line (w, d, o, n, i, quantity) VALUES (?, ?, ?, ?, ?, ?)");
    deleteOrder = connection.prepareStatement("DELETE FROM orders WHERE w = ? AND d = ? AND o = ?");
    deleteLines = connection.prepareStatement("DELETE FROM order_line WHERE w = ? AND d = ? AND o = ?");
    takeStock = connection.prepareStatement("UPDATE stock SET quantity = quantity - ? WHERE w = ? AND i = ?");
    payWarehouse = connection.prepareStatement("UPDATE warehouse SET ytd = ytd + ? WHERE w = ?");
    payDistrict = connection.prepareStatement("UPDATE district SET ytd = ytd + ? WHERE w = ? AND d = ?");
    payCustomer = connection.prepareStatement("UPDATE customer SET balance = balance - ? WHERE w = ? AND d = ? AND c = ?");
  }

  static void create(String url, int warehouses) throws SQLException {
    try (Connection connection = DriverManager.getConnection(url);
        Statement statement = connection.createStatement()) {
      statement.execute("CREATE TABLE warehouse (w INT PRIMARY KEY, ytd BIGINT)");
      statement.execute("CREATE TABLE district (w INT, d INT, next_order INT, ytd BIGINT, PRIMARY KEY (w, d))");
      statement.execute("CREATE TABLE customer (w INT, d INT, c INT, balance BIGINT, PRIMARY KEY (w, d, c))");
      statement.execute("CREATE TABLE stock (w INT, i INT, quantity BIGINT, PRIMARY KEY (w, i))");
      statement.execute("CREATE TABLE orders (w INT, d INT, o INT, c INT, PRIMARY KEY (w, d, o))");
      statement.execute("CREATE TABLE order_line (w INT, d INT, o INT, n INT, i INT, quantity INT, PRIMARY KEY (w, d, o, n))");
      statement.execute("INSERT INTO warehouse SELECT x, 0 FROM system_range(1, " + warehouses + ")");
      statement.execute("INSERT INTO district SELECT w, x, 0, 0 FROM warehouse, system_range(1, " + DISTRICTS + ")");
      statement.execute("INSERT INTO customer SELECT w, d, x, 0 FROM district, system_range(1, " + CUSTOMERS + ")");
      statement.execute("INSERT INTO stock SELECT w, x, 1000000 FROM warehouse, system_range(1, " + ITEMS + ")");
    }
  }

  /** One of the two, at random, drawn anew when it is tried again. Throws what H2 throws where a row is another one's. */
  void transaction() throws SQLException {
    int warehouse = 1 + random.nextInt(warehouses);
    transaction(warehouse, random.nextInt(2) != 0);
  }

  /** A new order, or a payment. Throws what H2 throws where a row is another one's. */
  void transaction(int warehouse, boolean isOrder) throws SQLException {
    int district = 1 + random.nextInt(DISTRICTS);
    int customer = 1 + random.nextInt(CUSTOMERS);
    lockWarehouse.setInt(1, warehouse);
    lockWarehouse.executeQuery().close();
    if (isOrder) {
      newOrder(warehouse, district, customer);
    } else {
      payment(warehouse, district, customer, 1 + random.nextInt(5000));
    }
    connection.commit();
  }

  /** Undoes what a failed transaction has done. */
  void undo() throws SQLException {
    connection.rollback();
  }

  private void payment(int warehouse, int district, int customer, int amount) throws SQLException {
    update(payWarehouse, amount, warehouse);
    update(payDistrict, amount, warehouse, district);
    update(payCustomer, amount, warehouse, district, customer);
  }

  private void newOrder(int warehouse, int district, int customer) throws SQLException {
    update(takeOrderId, warehouse, district);
    orderId.setInt(1, warehouse);
    orderId.setInt(2, district);
    int order;
    try (ResultSet result = orderId.executeQuery()) {
      result.next();
      order = result.getInt(1);
    }
    update(insertOrder, warehouse, district, order, customer);
    for (int line = 0; line < LINES; line++) {
      int item = 1 + random.nextInt(ITEMS);
      update(takeStock, 1, warehouse, item);
      update(insertLine, warehouse, district, order, line, item, 1);
    }
    update(deleteLines, warehouse, district, order - KEPT);
    update(deleteOrder, warehouse, district, order - KEPT);
  }

  private static void update(PreparedStatement statement, int... values) throws SQLException {
    for (int i = 0; i < values.length; i++) {
      statement.setInt(i + 1, values[i]);
    }
    statement.executeUpdate();
  }

  @Override
  public void close() throws SQLException {
    connection.close();
  }
}
