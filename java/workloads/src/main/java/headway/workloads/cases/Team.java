package headway.workloads.cases;

import headway.workloads.Report;
import headway.workloads.Work;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntConsumer;

/**
 * Runs the phases of a program and measures each. Part {@code i} of a parallel phase always runs on the same thread, so
 * that the threads' sums are those of the parts. Alone, the one part runs on the calling thread: the sequential program.
 */
public final class Team implements AutoCloseable {
    private final List<ExecutorService> workers = new ArrayList<>();
    private final Map<String, Phase> sequential = new LinkedHashMap<>();
    private final Map<String, Phase> parallel = new LinkedHashMap<>();

    private Team() {}

    /** No threads beside the caller's. */
    public static Team alone() {
        return new Team();
    }

    public static Team of(int threads) {
        Team team = new Team();
        for (int i = 0; i < threads; i++) {
            String name = "worker-" + i;
            team.workers.add(Executors.newFixedThreadPool(1, work -> new Thread(work, name)));
        }
        return team;
    }

    /** How many parts a parallel phase has. */
    public int parts() {
        return Math.max(1, workers.size());
    }

    /** Runs {@code work} on the calling thread. */
    public void sequential(String name, Runnable work) {
        Phase phase = sequential.computeIfAbsent(name, each -> new Phase(each, 1));
        measured(phase, () -> part(phase, 0, ignored -> work.run()));
    }

    /** Runs {@code work} once for each part, at the same time, and waits for all of them. */
    public void parallel(String name, IntConsumer work) {
        Phase phase = parallel.computeIfAbsent(name, each -> new Phase(each, parts()));
        measured(phase, () -> {
            if (workers.isEmpty()) {
                part(phase, 0, work);
            } else {
                onWorkers(phase, work);
            }
        });
    }

    private static void measured(Phase phase, Runnable work) {
        long begin = System.nanoTime();
        work.run();
        phase.over(System.nanoTime() - begin);
    }

    private void onWorkers(Phase phase, IntConsumer work) {
        List<Future<?>> parts = new ArrayList<>();
        for (int i = 0; i < workers.size(); i++) {
            int part = i;
            parts.add(workers.get(i).submit(() -> part(phase, part, work)));
        }
        for (Future<?> each : parts) {
            try {
                each.get();
            } catch (InterruptedException | ExecutionException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    private static void part(Phase phase, int part, IntConsumer work) {
        long before = Work.cpuNanos();
        work.accept(part);
        phase.used(part, Work.cpuNanos() - before);
    }

    /** Forgets what was measured so far. */
    public void clear() {
        sequential.values().forEach(Phase::clear);
        parallel.values().forEach(Phase::clear);
    }

    /** Adds the phases to a program's line. */
    public Report report(Report line) {
        return line.put("sequential", sequential.values().stream().map(Phase::report).toList())
                .put("parallel", parallel.values().stream().map(Phase::report).toList());
    }

    @Override
    public void close() {
        workers.forEach(ExecutorService::shutdown);
    }
}
