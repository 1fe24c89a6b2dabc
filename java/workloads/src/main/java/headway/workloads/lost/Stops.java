package headway.workloads.lost;

import headway.workloads.Work;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ref.Reference;
import java.net.InetAddress;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Each thread computes and stands still in turn: for the collector, for a time, for an answer, for a condition. */
final class Stops {
    private static final int PIECES = 4;

    private Stops() {}

    /** Full collections of a heap of {@code size} x 1 million objects. One thread of the JVM has to do them: -XX:+UseSerialGC. */
    static Case gc(Setting setting) {
        Label label = Label.of("gc_pause");
        List<Object> live = new ArrayList<>();
        for (int i = 0; i < (setting.isRemoved() ? 0 : 1_000_000 * setting.size()); i++) {
            live.add(new byte[1]);
        }
        return () -> {
            setting.fork("worker", setting.threads(), part -> {
                Work.burnCpu(Setting.UNIT_NS / 2);
                if (part == 0 && !live.isEmpty()) {
                    setting.ledger().stopped(label, System::gc);
                }
                Work.burnCpu(Setting.UNIT_NS / 2);
            });
            Reference.reachabilityFence(live); // the list lives as long as the case
        };
    }

    /** Sleeps for the share {@code size} of the time. */
    static Case sleep(Setting setting) {
        return stopping(setting, PIECES, Label.of("sleep"), Work::sleep);
    }

    /**
     * Waits for the share {@code size} of the time for an answer of another process, which answers late. In one piece: to ask
     * is work, here and there, which nobody counts.
     */
    static Case io(Setting setting) {
        return stopping(setting, 1, Label.of("io"), millis -> ask(setting.port(), millis));
    }

    private interface Stop {
        void millis(long count);
    }

    private static Case stopping(Setting setting, int pieces, Label label, Stop stop) {
        long still = (long) (Setting.UNIT_NS * setting.size() / pieces);
        return () -> setting.fork("worker", setting.threads(), part -> {
            for (int i = 0; i < pieces; i++) {
                if (setting.isRemoved()) {
                    stop.millis(0); // asking is work, and stays; only the answer's delay goes
                } else {
                    setting.ledger().waits(label, () -> stop.millis(still / 1_000_000));
                }
                Work.burnCpu(Setting.UNIT_NS / pieces - still);
            }
        });
    }

    /** Asks a server that answers a number of milliseconds, one byte, after as long. */
    private static void ask(int port, long millis) {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.getOutputStream().write((int) millis);
            if (socket.getInputStream().read() < 0) {
                throw new IllegalStateException("no answer");
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The first thread does the share {@code size} of the work before it signals a condition that the others wait for. */
    static Case condition(Setting setting) {
        return new Signalled(setting);
    }

    private static final class Signalled implements Case {
        private final Setting setting;
        private final ReentrantLock lock = new ReentrantLock();
        private final Condition ready = lock.newCondition();
        private final Label label = Label.lock("condition", ready);
        private boolean isReady;

        Signalled(Setting setting) {
            this.setting = setting;
        }

        @Override
        public void round() {
            isReady = false;
            long before = setting.isRemoved() ? 0 : (long) (setting.total() * setting.size());
            setting.fork("worker", setting.threads(), part -> {
                if (part == 0) {
                    Work.burnCpu(before);
                    signal();
                } else {
                    setting.ledger().waits(label, this::await);
                }
                Work.burnCpu((setting.total() - before) / setting.threads());
            });
        }

        private void signal() {
            lock.lock();
            isReady = true;
            ready.signalAll();
            lock.unlock();
        }

        private void await() {
            lock.lock();
            while (!isReady) {
                ready.awaitUninterruptibly();
            }
            lock.unlock();
        }
    }
}
