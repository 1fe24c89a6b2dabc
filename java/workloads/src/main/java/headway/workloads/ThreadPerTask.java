package headway.workloads;

import java.util.concurrent.atomic.AtomicLong;

/**
 * A new thread for every task, a few at a time: many short lives.
 *
 * <p>Arguments: tasks (10000); at a time (8); microseconds of CPU time per task (0).
 */
public final class ThreadPerTask {
    private ThreadPerTask() {}

    public static void main(String[] args) {
        int tasks = Work.argument(args, 0, 10_000);
        int atATime = Work.argument(args, 1, 8);
        long nanos = Work.argument(args, 2, 0) * 1000L;
        AtomicLong done = new AtomicLong();
        AtomicLong cpu = new AtomicLong();
        Thread[] running = new Thread[atATime];
        long begin = System.nanoTime();
        for (int i = 0; i < tasks; i++) {
            Thread before = running[i % atATime];
            if (before != null) {
                Work.join(before);
            }
            Thread thread = new Thread(() -> {
                Work.burnCpu(nanos);
                done.incrementAndGet();
                cpu.addAndGet(Work.cpuNanos());
            }, "task-" + i);
            running[i % atATime] = thread;
            thread.start();
        }
        for (Thread thread : running) {
            if (thread != null) {
                Work.join(thread);
            }
        }
        Report.of("thread_per_task").put("tasks", done.get()).put("begin_ns", begin).put("end_ns", System.nanoTime())
                .put("cpu_ns", cpu.get()).print();
    }
}
