package headway.workloads;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * Calls of LockSupport.park, counted before and after in a mapped file, which outlives a killed JVM. Per parker two
 * numbers of 64 bits: parks begun, parks ended.
 */
final class CountedParks {
    /** One park as its thread measured it, and how it was to end. */
    private record Park(long javaId, String how, int hash, long before, long after) {}

    private final LongBuffer counts;
    private final List<List<Park>> logs = new ArrayList<>();
    private final boolean logged;

    CountedParks(Path file, int parkers, boolean logged) {
        this.logged = logged;
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE_NEW, StandardOpenOption.READ,
                StandardOpenOption.WRITE)) {
            counts = channel.map(FileChannel.MapMode.READ_WRITE, 0, 16L * parkers).order(ByteOrder.nativeOrder())
                    .asLongBuffer();
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
        for (int i = 0; i < parkers; i++) {
            logs.add(new ArrayList<>());
        }
    }

    /** Parks on {@code blocker}, up to {@code nanos} if that is not 0. Each parker is one thread. */
    void park(int parker, Object blocker, long nanos, String how) {
        counts.put(2 * parker, counts.get(2 * parker) + 1);
        long before = System.nanoTime();
        if (nanos == 0) {
            LockSupport.park(blocker);
        } else {
            LockSupport.parkNanos(blocker, nanos);
        }
        if (logged) {
            logs.get(parker).add(new Park(Thread.currentThread().getId(), how, System.identityHashCode(blocker), before,
                    System.nanoTime()));
        }
        counts.put(2 * parker + 1, counts.get(2 * parker + 1) + 1);
    }

    /** Of a parker, seen by any thread soon. */
    long ended(int parker) {
        return counts.get(2 * parker + 1);
    }

    long begun(int parker) {
        return counts.get(2 * parker);
    }

    /** Writes each park as a line; call it when the parkers have ended. */
    void writeLog(Path file) {
        try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(file))) {
            out.println("java_id,how,identity_hash,before_ns,after_ns");
            for (List<Park> log : logs) {
                for (Park each : log) {
                    out.printf("%d,%s,%d,%d,%d%n", each.javaId, each.how, each.hash, each.before, each.after);
                }
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
