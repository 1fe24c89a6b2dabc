package headway.bench;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * The five transactions of TPC-C (revision 5.11, clause 2) in its mix, in H2, by one client, which serves all warehouses, without
 * times for keying and thinking. A row that another transaction has is not waited for: the transaction fails, and {@link Backoff}
 * tries it again after a while.
 *
 * <p>Unlike there, a new order deletes one of long ago, so that of the tables history alone grows while it is measured.
 */
final class Tpcc implements AutoCloseable {
  private static final int KEPT = 2 * TpccTables.ORDERS; // orders of a district

  private final Connection connection;
  private final int warehouses;
  private final Map<String, PreparedStatement> statements = new HashMap<>();
  private SplittableRandom random = new SplittableRandom(0);
  private int home; // the present transaction's warehouse

  /** One connection, for one thread. */
  Tpcc(String url, int warehouses) throws SQLException {
    this.connection = DriverManager.getConnection(url);
    this.connection.setAutoCommit(false);
    this.warehouses = warehouses;
  }

  /** One of the five, which {@code seed} says. Throws what H2 throws where a row is another one's: then undo() it. */
  void transaction(long seed) throws SQLException {
    random = new SplittableRandom(seed);
    int kind = random.nextInt(100);
    home = between(1, warehouses);
    int district = between(1, TpccTables.DISTRICTS);
    if (kind < 45) {
      newOrder(district);
    } else if (kind < 88) {
      payment(district);
    } else if (kind < 92) {
      orderStatus(district);
    } else if (kind < 96) {
      delivery();
    } else {
      stockLevel(district);
    }
    connection.commit();
  }

  /** Undoes what a failed transaction has done. */
  void undo() throws SQLException {
    connection.rollback();
  }

  // --- clause 2.4 ---

  private void newOrder(int district) throws SQLException {
    int customer = customerNumber();
    int tax = number("SELECT tax FROM warehouse WHERE w = ?", home);
    int order = number("SELECT next_order FROM district WHERE w = ? AND d = ? FOR UPDATE NOWAIT", home, district);
    update("UPDATE district SET next_order = ? WHERE w = ? AND d = ?", order + 1, home, district);
    int discount = number("SELECT discount, last, credit FROM customer WHERE w = ? AND d = ? AND c = ?", home, district, customer);
    int lines = between(5, 15);
    update("INSERT INTO orders VALUES (?, ?, ?, ?, NULL, ?, CURRENT_TIMESTAMP)", home, district, order, customer, lines);
    update("INSERT INTO new_order VALUES (?, ?, ?)", home, district, order);
    int total = 0;
    for (int line = 1; line <= lines; line++) {
      total += orderLine(district, order, line);
    }
    if (total * (100 - discount) / 100 * (100 + tax) / 100 <= 0) {
      throw new IllegalStateException("an order of nothing");
    }
    update("DELETE FROM order_line WHERE w = ? AND d = ? AND o = ?", home, district, order - KEPT);
    update("DELETE FROM new_order WHERE w = ? AND d = ? AND o = ?", home, district, order - KEPT);
    update("DELETE FROM orders WHERE w = ? AND d = ? AND o = ?", home, district, order - KEPT);
  }

  /** Returns its amount. */
  private int orderLine(int district, int order, int line) throws SQLException {
    int item = nonUniform(8191, TpccTables.ITEMS);
    int quantity = between(1, 10);
    int supplier = random.nextInt(100) == 0 ? between(1, warehouses) : home;
    int price = number("SELECT price, name, data FROM item WHERE i = ?", item);
    int there = number("SELECT quantity, dist, data FROM stock WHERE w = ? AND i = ? FOR UPDATE NOWAIT", supplier, item);
    int left = there >= quantity + 10 ? there - quantity : there - quantity + 91;
    update(
        "UPDATE stock SET quantity = ?, ytd = ytd + ?, ordered = ordered + 1, remote = remote + ? WHERE w = ? AND i = ?",
        left, quantity, supplier == home ? 0 : 1, supplier, item);
    update(
        "INSERT INTO order_line VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, 'stock of a district')",
        home, district, order, line, item, supplier, quantity, quantity * price);
    return quantity * price;
  }

  // --- clause 2.5 ---

  private void payment(int district) throws SQLException {
    int amount = between(100, 500_000);
    boolean isRemote = random.nextInt(100) < 15;
    int warehouse = isRemote ? between(1, warehouses) : home;
    int itsDistrict = isRemote ? between(1, TpccTables.DISTRICTS) : district;
    number("SELECT tax, name FROM warehouse WHERE w = ? FOR UPDATE NOWAIT", home);
    update("UPDATE warehouse SET ytd = ytd + ? WHERE w = ?", amount, home);
    number("SELECT tax, name FROM district WHERE w = ? AND d = ? FOR UPDATE NOWAIT", home, district);
    update("UPDATE district SET ytd = ytd + ? WHERE w = ? AND d = ?", amount, home, district);
    int customer = customer(warehouse, itsDistrict);
    boolean isGood = number("SELECT CASEWHEN(credit = 'GC', 1, 0), data FROM customer WHERE w = ? AND d = ? AND c = ?"
        + " FOR UPDATE NOWAIT", warehouse, itsDistrict, customer) == 1;
    String data = isGood ? "" : ", data = LEFT(c || '-' || d || '-' || w || '|' || data, 500)";
    update(
        "UPDATE customer SET balance = balance - ?, paid = paid + ?, payments = payments + 1" + data
            + " WHERE w = ? AND d = ? AND c = ?",
        amount, amount, warehouse, itsDistrict, customer);
    update("INSERT INTO history (w, d, c, amount, data) VALUES (?, ?, ?, ?, 'warehouse district')", home, district, customer, amount);
  }

  // --- clauses 2.6 to 2.8 ---

  private void orderStatus(int district) throws SQLException {
    int customer = customer(home, district);
    number("SELECT balance, first, last FROM customer WHERE w = ? AND d = ? AND c = ?", home, district, customer);
    int order = number("SELECT MAX(o) FROM orders WHERE w = ? AND d = ? AND c = ?", home, district, customer);
    rows("SELECT i, supplier, quantity, amount, delivered FROM order_line WHERE w = ? AND d = ? AND o = ?", home, district, order);
  }

  private void delivery() throws SQLException {
    int carrier = between(1, 10);
    for (int district = 1; district <= TpccTables.DISTRICTS; district++) {
      int order = number("SELECT MIN(o) FROM new_order WHERE w = ? AND d = ?", home, district);
      if (order == 0) {
        continue;
      }
      if (number("SELECT o FROM new_order WHERE w = ? AND d = ? AND o = ? FOR UPDATE NOWAIT", home, district, order) == 0) {
        continue; // somebody has just delivered it
      }
      update("DELETE FROM new_order WHERE w = ? AND d = ? AND o = ?", home, district, order);
      int customer = number("SELECT c FROM orders WHERE w = ? AND d = ? AND o = ?", home, district, order);
      update("UPDATE orders SET carrier = ? WHERE w = ? AND d = ? AND o = ?", carrier, home, district, order);
      update("UPDATE order_line SET delivered = CURRENT_TIMESTAMP WHERE w = ? AND d = ? AND o = ?", home, district, order);
      int amount = number("SELECT SUM(amount) FROM order_line WHERE w = ? AND d = ? AND o = ?", home, district, order);
      number("SELECT c FROM customer WHERE w = ? AND d = ? AND c = ? FOR UPDATE NOWAIT", home, district, customer);
      update(
          "UPDATE customer SET balance = balance + ?, deliveries = deliveries + 1 WHERE w = ? AND d = ? AND c = ?",
          amount, home, district, customer);
    }
  }

  private void stockLevel(int district) throws SQLException {
    int next = number("SELECT next_order FROM district WHERE w = ? AND d = ?", home, district);
    number(
        "SELECT COUNT(DISTINCT s.i) FROM order_line l JOIN stock s ON s.w = l.w AND s.i = l.i"
            + " WHERE l.w = ? AND l.d = ? AND l.o >= ? AND l.o < ? AND s.quantity < ?",
        home, district, next - 20, next, between(10, 20));
  }

  // --- what is drawn: clause 2.1 ---

  /** Six of ten by their last name: the one in the middle of those that have it. */
  private int customer(int warehouse, int district) throws SQLException {
    if (random.nextInt(100) >= 60) {
      return customerNumber();
    }
    String name = "last" + (nonUniform(255, TpccTables.NAMES) - 1);
    PreparedStatement statement = prepared("SELECT c FROM customer WHERE w = ? AND d = ? AND last = ? ORDER BY first");
    statement.setInt(1, warehouse);
    statement.setInt(2, district);
    statement.setString(3, name);
    int[] found = new int[TpccTables.CUSTOMERS];
    int count = 0;
    try (ResultSet result = statement.executeQuery()) {
      while (result.next()) {
        found[count++] = result.getInt(1);
      }
    }
    return found[count / 2];
  }

  private int customerNumber() {
    return nonUniform(1023, TpccTables.CUSTOMERS);
  }

  private int between(int least, int most) {
    return least + random.nextInt(most - least + 1);
  }

  private int nonUniform(int mask, int most) {
    return ((between(0, mask) | between(1, most)) + 42) % most + 1;
  }

  // --- SQL ---

  private PreparedStatement prepared(String text, int... values) throws SQLException {
    PreparedStatement statement = statements.get(text);
    if (statement == null) {
      statement = connection.prepareStatement(text);
      statements.put(text, statement);
    }
    for (int i = 0; i < values.length; i++) {
      statement.setInt(i + 1, values[i]);
    }
    return statement;
  }

  private void update(String text, int... values) throws SQLException {
    prepared(text, values).executeUpdate();
  }

  /** The first column of the only row; 0 if that is NULL, or there is none. */
  private int number(String text, int... values) throws SQLException {
    try (ResultSet result = prepared(text, values).executeQuery()) {
      return result.next() ? result.getInt(1) : 0;
    }
  }

  private int rows(String text, int... values) throws SQLException {
    int count = 0;
    try (ResultSet result = prepared(text, values).executeQuery()) {
      while (result.next()) {
        count++;
      }
    }
    return count;
  }

  @Override
  public void close() throws SQLException {
    connection.close();
  }
}
