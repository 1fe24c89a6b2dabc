package headway.workloads.lost;

import headway.workloads.Work;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import javax.management.JMException;
import javax.management.ObjectName;

/**
 * One thread asks the JVM for the stacks of many parked threads: it stops the program while it writes them down. How long it
 * stood still is told by another thread that looks at the clock all the time. Removed: nobody asks.
 */
final class Halted implements Case {
    private static final Label SAFEPOINT = Label.of("safepoint");
    private static final int PARKED = 300;
    private static final int DEEP = 200;
    private static final long GAP_NS = 2_000_000;

    private final Setting setting;
    private final List<Thread> parked = new ArrayList<>();
    private volatile boolean isAsking;
    private volatile boolean isOver;

    Halted(Setting setting) {
        this.setting = setting;
        for (int i = 0; i < (setting.isRemoved() ? 0 : PARKED * setting.size()); i++) {
            Thread thread = new Thread(() -> park(DEEP), "parked-" + i);
            thread.setDaemon(true);
            thread.start();
            parked.add(thread);
        }
    }

    private void park(int deeper) {
        if (deeper > 0) {
            park(deeper - 1);
        }
        while (!isOver) {
            LockSupport.park(this);
        }
    }

    @Override
    public void round() {
        setting.fork("worker", setting.threads(), part -> {
            if (part > 0) {
                compute(Setting.UNIT_NS);
                return;
            }
            Work.burnCpu(Setting.UNIT_NS / 2);
            if (!setting.isRemoved()) {
                ask();
            }
            Work.burnCpu(Setting.UNIT_NS / 2);
        });
    }

    private void ask() {
        isAsking = true;
        try {
            ObjectName commands = new ObjectName("com.sun.management:type=DiagnosticCommand");
            ManagementFactory.getPlatformMBeanServer().invoke(commands, "threadPrint",
                    new Object[] {new String[0]}, new String[] {String[].class.getName()});
        } catch (JMException e) {
            throw new IllegalStateException(e);
        }
        isAsking = false;
    }

    /** Computes for a time, and notes when everything stood still meanwhile. */
    private void compute(long nanos) {
        long until = Work.cpuNanos() + nanos;
        long before = System.nanoTime();
        while (Work.cpuNanos() < until) {
            long now = System.nanoTime();
            if (now - before > GAP_NS && isAsking) {
                setting.ledger().stopped(SAFEPOINT, before, now);
            }
            before = now;
        }
    }

    @Override
    public void close() {
        isOver = true;
        parked.forEach(LockSupport::unpark);
        parked.forEach(Work::join);
    }
}
