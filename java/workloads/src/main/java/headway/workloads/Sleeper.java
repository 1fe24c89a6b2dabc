package headway.workloads;

import java.io.IOException;
import java.io.UncheckedIOException;

/**
 * Mostly blocked: a target to attach to. Says "ready" with its process id, then works a little now and then.
 *
 * <p>Arguments: seconds to live (60); extra sleeping threads (2); milliseconds between two bits of work (50); "stdin" to end when
 * its standard input does, if that comes first ("").
 */
public final class Sleeper {
    private static volatile boolean isOver;

    private Sleeper() {}

    public static void main(String[] args) throws InterruptedException {
        long until = System.nanoTime() + Work.argument(args, 0, 60) * 1_000_000_000L;
        int extra = Work.argument(args, 1, 2);
        int pauseMillis = Work.argument(args, 2, 50);
        for (int i = 0; i < extra; i++) {
            Thread thread = new Thread(() -> sleepUntil(until), "sleeper-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        if (Work.argument(args, 3, "").equals("stdin")) {
            Thread reader = new Thread(Sleeper::awaitEndOfInput, "reader");
            reader.setDaemon(true);
            reader.start();
        }
        Report.of("ready").put("pid", ProcessHandle.current().pid()).print();
        long rounds = 0;
        while (System.nanoTime() < until && !isOver) {
            Thread brief = new Thread(() -> Work.burnCpu(1_000_000), "brief-" + rounds++);
            brief.start();
            brief.join();
            Thread.sleep(pauseMillis);
        }
        Report.of("done").put("rounds", rounds).put("main_cpu_ns", Work.cpuNanos()).print();
    }

    private static void awaitEndOfInput() {
        try {
            while (System.in.read() >= 0) {
                // until its end
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        isOver = true;
    }

    private static void sleepUntil(long until) {
        try {
            while (System.nanoTime() < until) {
                Thread.sleep(1000);
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
