import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;

/**
 * A thread parks on new things, on most of them once, until the recorder no longer makes a place in its table for each (it looks
 * there: hw_lock_header of native/wire/records.h), and on some more. Prints a line for each thing: its identity hash, how often the
 * thread parked on it, and the sum of how long, by the monotonic clock around each park; then whether the recorder came so far.
 */
public final class ShortLived {
    private static final int BATCH = 100;
    private static final int MOST_NEW = BATCH / 5;
    private static final int BATCHES_MORE = 5;
    private static final int OFTEN_EVERY = 90;
    private static final int OFTEN = 5;
    private static final long REST_NS = 30_000_000L;
    private static final int SLOTS_AT = 28;
    private static final long MOST_NS = 60_000_000_000L;
    private static final StringBuilder THINGS = new StringBuilder();
    private static volatile boolean isParked;
    private static volatile boolean isOver;

    private ShortLived() {}

    private static final class Thing {}

    public static void main(String[] args) throws InterruptedException {
        Thread parker = new Thread(ShortLived::parkOnAll, "parker");
        parker.start();
        while (parker.isAlive()) { // unparks only who parks: else the next park would not wait
            if (isParked && parker.getState() == Thread.State.WAITING) {
                isParked = false;
                LockSupport.unpark(parker);
            }
            Thread.yield();
        }
        System.out.print(THINGS);
        System.out.println("together " + isOver);
    }

    private static void parkOnAll() {
        Optional<Path> table = table();
        long deadline = System.nanoTime() + MOST_NS;
        int number = 0;
        int more = 0;
        while (table.isPresent() && more < BATCHES_MORE && System.nanoTime() < deadline) {
            int before = slots(table.get());
            for (int i = 0; i < BATCH; i++) {
                number++;
                parkOn(new Thing(), number % OFTEN_EVERY == 0 ? OFTEN : 1);
            }
            LockSupport.parkNanos(REST_NS); // the recorder looks at its table now and then
            more += more > 0 || slots(table.get()) - before <= MOST_NEW ? 1 : 0;
        }
        isOver = more == BATCHES_MORE;
    }

    private static void parkOn(Thing thing, int times) {
        long parked = 0;
        for (int i = 0; i < times; i++) {
            long begin = System.nanoTime();
            isParked = true;
            LockSupport.park(thing);
            parked += System.nanoTime() - begin;
        }
        THINGS.append(System.identityHashCode(thing)).append(' ').append(times).append(' ').append(parked).append('\n');
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
