package headway.workloads;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import jdk.jfr.Configuration;
import jdk.jfr.DataAmount;
import jdk.jfr.Event;
import jdk.jfr.Label;
import jdk.jfr.Name;
import jdk.jfr.Recording;
import jdk.jfr.Timespan;
import jdk.jfr.Timestamp;
import jdk.jfr.Unsigned;

/**
 * Records itself with Flight Recorder: every kind of event that headway knows, an event of its own with every type of field,
 * in several chunks.
 *
 * <p>Arguments: the file to write; rounds (3); own events per round (500). Prints how many of its own events there are.
 */
public final class JfrZoo {
    private static volatile Object kept;

    private JfrZoo() {}

    /** One field of each type that an event can have. */
    @Name("headway.Zoo")
    @Label("Zoo")
    static final class ZooEvent extends Event {
        int number;
        long big;
        short small;
        byte tiny;
        char letter;
        boolean even;
        float ratio;
        double precise;
        String text;
        Class<?> type;
        Thread other;

        @Unsigned
        int unsignedNumber;

        @DataAmount
        long amount;

        @Timespan(Timespan.MILLISECONDS)
        long span;

        @Timestamp(Timestamp.MILLISECONDS_SINCE_EPOCH)
        long moment;
    }

    public static void main(String[] args) throws Exception {
        int rounds = Work.argument(args, 1, 3);
        int events = Work.argument(args, 2, 500);
        try (Recording recording = new Recording(Configuration.getConfiguration("profile"))) {
            for (String name : List.of("ThreadPark", "JavaMonitorEnter", "JavaMonitorWait", "ThreadSleep")) {
                recording.enable("jdk." + name).withThreshold(Duration.ZERO).withStackTrace();
            }
            recording.enable("jdk.ObjectAllocationInNewTLAB").withStackTrace();
            recording.enable("jdk.ObjectAllocationOutsideTLAB").withStackTrace();
            recording.enable("jdk.GCPhasePause");
            recording.enable("jdk.ExecutionSample").withPeriod(Duration.ofMillis(10));
            recording.enable("jdk.CPULoad").with("period", "everyChunk");
            recording.start();
            for (int i = 0; i < rounds; i++) {
                emit(events);
                block();
                kept = new byte[8 << 20]; // outside any TLAB
                System.gc();
                Work.sink = Work.spin(1.0, 20_000_000);
                rotate();
            }
            recording.stop();
            recording.dump(Path.of(args[0]));
        }
        Report.of("jfr_zoo").put("own", (long) rounds * events).put("rounds", rounds).print();
    }

    /** Another recording that starts and ends makes the JVM begin a new chunk. */
    private static void rotate() {
        try (Recording other = new Recording()) {
            other.start();
            other.stop();
        }
    }

    private static void emit(int count) {
        String[] texts = {"plain", "", null, "caf\u00e9", "\u65e5\u672c \ud83d\ude80", "a\tb\"\\\n", "x".repeat(5000)};
        for (int i = 0; i < count; i++) {
            ZooEvent event = new ZooEvent();
            event.begin();
            event.number = i % 2 == 0 ? i : -i;
            event.big = i % 3 == 0 ? Long.MIN_VALUE + 1 + i : i * 0x123456789abcL;
            event.small = (short) (i * 377);
            event.tiny = (byte) (i * 31);
            event.letter = (char) (i * 131);
            event.even = i % 2 == 0;
            event.ratio = i / 7f;
            event.precise = -i / 13.0;
            event.text = texts[i % texts.length];
            event.type = i % 5 == 0 ? int[].class : i % 5 == 1 ? null : ReentrantLock.class;
            event.other = i % 4 == 0 ? null : Thread.currentThread();
            event.unsignedNumber = -1 - i;
            event.amount = i;
            event.span = i;
            event.moment = 1_700_000_000_000L + i;
            event.commit();
        }
    }

    /** Contention, waits, sleeps and parks, each by threads of its own. */
    private static void block() throws InterruptedException {
        Object monitor = new Object();
        List<Thread> threads = new ArrayList<>();
        synchronized (monitor) {
            threads.add(new Thread(() -> {
                synchronized (monitor) {
                    Work.sink += 1;
                }
            }, "contender"));
            threads.get(0).start();
            while (threads.get(0).getState() != Thread.State.BLOCKED) {
                Thread.onSpinWait();
            }
            monitor.wait(5);
        }
        Thread parked = new Thread(() -> LockSupport.park(monitor), "parked \u00e9");
        parked.start();
        threads.add(parked);
        while (parked.getState() != Thread.State.WAITING && parked.isAlive()) { // a park may end by itself
            Thread.onSpinWait();
        }
        Thread.sleep(3);
        LockSupport.parkNanos(1_000_000);
        LockSupport.unpark(parked);
        startVirtual(threads, () -> LockSupport.parkNanos(2_000_000));
        for (Thread each : threads) {
            each.join();
        }
    }

    private static void startVirtual(List<Thread> threads, Runnable task) {
        try {
            threads.add((Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task));
        } catch (ReflectiveOperationException e) {
            Work.sink += 1; // JDK 17 has none
        }
    }
}
