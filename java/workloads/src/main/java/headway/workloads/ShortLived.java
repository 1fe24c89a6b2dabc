package headway.workloads;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/**
 * A thread waits in a new future and a new latch, again and again, as clients of servers do, until the recorder no longer makes a
 * place in its table for each of them. It sees that in the table itself (hw_lock_header of native/wire/records.h).
 */
final class ShortLived {
    private static final int BATCH = 100;
    private static final int MOST_NEW = BATCH / 5;
    private static final int SLOTS_AT = 28;

    private interface Wait {
        void in() throws InterruptedException, ExecutionException;
    }

    private static volatile Wait next;
    private static int waits;

    private ShortLived() {}

    /** Returns how many futures, and how many latches, were waited in; 0 if that took too long, or nobody records. */
    static int untilTogether() throws InterruptedException {
        Optional<Path> table = table();
        long deadline = System.nanoTime() + 60_000_000_000L;
        Thread waiter = new Thread(ShortLived::waitInAll, "short-lived");
        waiter.start();
        boolean isTogether = false;
        while (table.isPresent() && !isTogether && System.nanoTime() < deadline) {
            int before = slots(table.get());
            for (int i = 0; i < BATCH; i++) {
                FutureTask<Integer> future = new FutureTask<>(() -> 1);
                let(waiter, future::get, future);
                CountDownLatch latch = new CountDownLatch(1);
                let(waiter, latch::await, latch::countDown);
                waits++;
            }
            isTogether = slots(table.get()) - before <= MOST_NEW;
        }
        let(waiter, null, () -> {});
        waiter.join();
        Work.sleep(2000); // the recorder takes so many stacks in a second: it has some for what comes
        return isTogether ? waits : 0;
    }

    /** Lets the waiter wait, and ends that as soon as it does. */
    private static void let(Thread waiter, Wait wait, Runnable ending) {
        next = wait == null ? () -> Thread.currentThread().interrupt() : wait;
        spin(() -> wait == null || Blockers.isBlocked(waiter));
        ending.run();
        spin(() -> next == null);
    }

    private static void spin(BooleanSupplier done) {
        while (!done.getAsBoolean()) {
            Thread.yield();
        }
    }

    private static void waitInAll() {
        while (!Thread.currentThread().isInterrupted()) {
            Wait wait = next;
            if (wait == null) {
                Thread.yield();
                continue;
            }
            try {
                wait.in();
            } catch (InterruptedException | ExecutionException e) {
                throw new IllegalStateException(e);
            }
            next = null;
        }
    }

    private static Optional<Path> table() {
        try (Stream<String> maps = Files.lines(Path.of("/proc/self/maps"))) {
            return maps.filter(line -> line.endsWith(".table") && line.contains("/locks-"))
                    .map(line -> Path.of(line.substring(line.indexOf('/'))))
                    .findFirst();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private static int slots(Path table) {
        try (RandomAccessFile file = new RandomAccessFile(table.toFile(), "r")) {
            file.seek(SLOTS_AT);
            return Integer.reverseBytes(file.readInt());
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
