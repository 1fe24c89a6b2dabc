package headway.workloads;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Does what its standard input asks, a line at a time, and says after each that it is done.
 *
 * <ul>
 *   <li>{@code park N}: parks N times, each for a moment, on an object made for it
 *   <li>{@code hold N}: N times another thread acquires a lock that it had to queue for
 *   <li>{@code stay NAME}: a thread of that name parks for ever
 *   <li>{@code redefine}: has {@link OtherAgent} redefine LockSupport
 * </ul>
 */
public final class OnRequest {
    private OnRequest() {}

    /** What is parked on: a class of its own, one object for each request. */
    private static final class Place {}

    public static void main(String[] args) throws IOException {
        Report.of("ready").put("pid", (int) ProcessHandle.current().pid()).print();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "park" -> park(Integer.parseInt(words[1]));
                case "hold" -> hold(Integer.parseInt(words[1]));
                case "stay" -> stay(words[1]);
                case "redefine" -> {
                    OtherAgent.redefine();
                    Report.of("redefined").put("transformed", OtherAgent.transformed()).print();
                }
                default -> throw new IllegalArgumentException(line);
            }
        }
        Report.of("done").put("transformed", OtherAgent.transformed()).print();
    }

    private static void park(int times) {
        Place place = new Place();
        for (int i = 0; i < times; i++) {
            LockSupport.parkNanos(place, 1);
        }
        Report.of("parked").put("hash", System.identityHashCode(place)).put("times", times).print();
    }

    private static void hold(int times) {
        ReentrantLock lock = new ReentrantLock();
        for (int i = 0; i < times; i++) {
            lock.lock();
            Thread other = new Thread(() -> {
                lock.lock();
                lock.unlock();
            });
            other.start();
            while (!lock.hasQueuedThread(other)) {
                Thread.onSpinWait();
            }
            lock.unlock();
            Work.join(other);
        }
        Report.of("held").put("times", times).print();
    }

    private static void stay(String name) {
        Place place = new Place();
        Thread thread = new Thread(() -> {
            while (true) {
                LockSupport.park(place);
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
        while (LockSupport.getBlocker(thread) != place || thread.getState() != Thread.State.WAITING) {
            Thread.onSpinWait();
        }
        List<String> frames = Arrays.stream(thread.getStackTrace()).map(StackTraceElement::getClassName).toList();
        Report.of("stays").put("frames", frames.toString()).print();
    }
}
