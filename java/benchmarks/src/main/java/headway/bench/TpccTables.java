package headway.bench;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * The tables of TPC-C (revision 5.11, clause 1) and what is in them when a run begins, in H2, in memory. A tenth of the
 * customers, items and orders that the specification wants, so that it is there within seconds.
 */
final class TpccTables {
  static final int DISTRICTS = 10;
  static final int CUSTOMERS = 300; // of a district
  static final int ITEMS = 10_000;
  static final int ORDERS = 300; // of a district; the last 90 are not delivered yet
  static final int UNDELIVERED = 90;
  static final int NAMES = 100; // last names

  private static final String[] SCHEMA = {
    "CREATE TABLE warehouse (w INT PRIMARY KEY, name VARCHAR(10), tax INT, ytd BIGINT)",
    "CREATE TABLE district (w INT, d INT, name VARCHAR(10), tax INT, ytd BIGINT, next_order INT, PRIMARY KEY (w, d))",
    "CREATE TABLE customer (w INT, d INT, c INT, first VARCHAR(16), last VARCHAR(16), credit CHAR(2), discount INT,"
        + " balance BIGINT, paid BIGINT, payments INT, deliveries INT, data VARCHAR(500), PRIMARY KEY (w, d, c))",
    "CREATE INDEX customer_name ON customer (w, d, last)",
    "CREATE TABLE history (id BIGINT AUTO_INCREMENT PRIMARY KEY, w INT, d INT, c INT, amount INT, data VARCHAR(24))",
    "CREATE TABLE item (i INT PRIMARY KEY, name VARCHAR(24), price INT, data VARCHAR(50))",
    "CREATE TABLE stock (w INT, i INT, quantity INT, dist VARCHAR(24), ytd BIGINT, ordered INT, remote INT, data VARCHAR(50),"
        + " PRIMARY KEY (w, i))",
    "CREATE TABLE orders (w INT, d INT, o INT, c INT, carrier INT, lines INT, entered TIMESTAMP, PRIMARY KEY (w, d, o))",
    "CREATE INDEX orders_customer ON orders (w, d, c, o)",
    "CREATE TABLE new_order (w INT, d INT, o INT, PRIMARY KEY (w, d, o))",
    "CREATE TABLE order_line (w INT, d INT, o INT, n INT, i INT, supplier INT, delivered TIMESTAMP, quantity INT, amount INT,"
        + " dist VARCHAR(24), PRIMARY KEY (w, d, o, n))",
  };

  private TpccTables() {}

  static void create(String url, int warehouses) throws SQLException {
    try (Connection connection = DriverManager.getConnection(url);
        Statement statement = connection.createStatement()) {
      for (String table : SCHEMA) {
        statement.execute(table);
      }
      fill(statement, warehouses);
    }
  }

  private static void fill(Statement statement, int warehouses) throws SQLException {
    String filler = "LPAD(x, 24, 'stock of a district ')";
    statement.execute("INSERT INTO warehouse SELECT x, 'w' || x, 7, 0 FROM " + range(warehouses));
    statement.execute("INSERT INTO district SELECT w, x, 'd' || x, 9, 0, " + (ORDERS + 1) + " FROM warehouse, " + range(DISTRICTS));
    statement.execute(
        "INSERT INTO customer SELECT w, d, x, 'first' || x, 'last' || MOD(x, " + NAMES + "), CASEWHEN(MOD(x, 10) = 0, 'BC', 'GC'),"
            + " 5, -1000, 1000, 1, 0, LPAD(x, 300, 'about the customer ') FROM district, " + range(CUSTOMERS));
    statement.execute("INSERT INTO item SELECT x, 'item' || x, 100 + MOD(x, 9900), " + filler + " FROM " + range(ITEMS));
    statement.execute("INSERT INTO stock SELECT w, x, 10 + MOD(x, 91), " + filler + ", 0, 0, 0, " + filler + " FROM warehouse, " + range(ITEMS));
    statement.execute(
        "INSERT INTO orders SELECT w, d, x, x, CASEWHEN(x > " + (ORDERS - UNDELIVERED) + ", NULL, 1), 10, CURRENT_TIMESTAMP"
            + " FROM district, " + range(ORDERS));
    statement.execute("INSERT INTO new_order SELECT w, d, o FROM orders WHERE carrier IS NULL");
    statement.execute(
        "INSERT INTO order_line SELECT w, d, o, x, 1 + MOD(o * 31 + x * 97, " + ITEMS + "), w, entered, 5, 500, " + filler
            + " FROM orders, " + range(10));
    statement.execute("ANALYZE");
  }

  private static String range(int most) {
    return "system_range(1, " + most + ")";
  }
}
