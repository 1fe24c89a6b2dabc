package headway.real;

import com.sleepycat.je.Database;
import com.sleepycat.je.DatabaseConfig;
import com.sleepycat.je.DatabaseEntry;
import com.sleepycat.je.Durability;
import com.sleepycat.je.Environment;
import com.sleepycat.je.EnvironmentConfig;
import com.sleepycat.je.LockMode;
import com.sleepycat.je.Transaction;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

/**
 * Berkeley DB Java Edition in a folder, and clients that update one record in transactions which take so many milliseconds. Prints the wall
 * time of the clients, and how long they waited for the record, in ns.
 */
public final class RecordLocks {
    private static final LongAdder WAITED_NS = new LongAdder();

    private RecordLocks() {}

    static void update(Environment environment, Database database, int millis) throws InterruptedException {
        DatabaseEntry key = new DatabaseEntry("account".getBytes(StandardCharsets.UTF_8));
        DatabaseEntry value = new DatabaseEntry();
        Transaction transaction = environment.beginTransaction(null, null);
        long began = System.nanoTime();
        database.get(transaction, key, value, LockMode.RMW);
        WAITED_NS.add(System.nanoTime() - began);
        Thread.sleep(millis);
        database.put(transaction, key, value);
        transaction.commit();
    }

    /** Arguments: an empty folder, the number of clients, transactions of each, and their milliseconds. */
    public static void main(String[] args) throws InterruptedException {
        int transactions = Integer.parseInt(args[2]);
        int millis = Integer.parseInt(args[3]);
        EnvironmentConfig settings = new EnvironmentConfig();
        settings.setAllowCreate(true).setTransactional(true).setDurability(Durability.COMMIT_NO_SYNC);
        settings.setLockTimeout(1, TimeUnit.MINUTES);
        DatabaseConfig tables = new DatabaseConfig();
        tables.setAllowCreate(true).setTransactional(true);
        try (Environment environment = new Environment(new File(args[0]), settings);
                Database database = environment.openDatabase(null, "bank", tables)) {
            database.put(null, new DatabaseEntry("account".getBytes(StandardCharsets.UTF_8)), new DatabaseEntry(new byte[8]));
            Thread[] clients = new Thread[Integer.parseInt(args[1])];
            long began = System.nanoTime();
            for (int i = 0; i < clients.length; i++) {
                clients[i] = new Thread(() -> {
                    try {
                        for (int done = 0; done < transactions; done++) {
                            update(environment, database, millis);
                        }
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                }, "client-" + i);
                clients[i].start();
            }
            for (Thread each : clients) {
                each.join();
            }
            System.out.println(System.nanoTime() - began + " " + WAITED_NS.sum());
        }
    }
}
