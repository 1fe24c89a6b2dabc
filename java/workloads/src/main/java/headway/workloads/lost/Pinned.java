package headway.workloads.lost;

import headway.workloads.Work;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Threads that are bound to one CPU, by taskset, while the program may use others: they are ready, and a core is free. */
final class Pinned implements Case {
    private static final Label SCHEDULER = Label.of("scheduler");

    private final Setting setting;
    private final List<ExecutorService> workers = new ArrayList<>();

    Pinned(Setting setting) {
        this.setting = setting;
        for (int i = 0; i < setting.threads(); i++) {
            String name = "worker-" + i;
            ExecutorService worker = Executors.newFixedThreadPool(1, work -> new Thread(work, name));
            workers.add(worker);
            Uneven.get(worker.submit(setting.isRemoved() ? () -> {} : Pinned::bind));
        }
    }

    /** Binds the calling thread to the first CPU that it may use. */
    private static void bind() {
        try {
            String thread = Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString();
            String allowed = Files.readAllLines(Path.of("/proc/thread-self/status")).stream()
                    .filter(line -> line.startsWith("Cpus_allowed_list:")).findFirst().orElseThrow();
            String first = allowed.substring(allowed.indexOf(':') + 1).strip().split("[-,]")[0];
            Process taskset = new ProcessBuilder("taskset", "-cp", first, thread)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
            if (taskset.waitFor() != 0) {
                throw new IllegalStateException("taskset failed");
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void round() {
        long begin = System.nanoTime();
        List<Future<?>> all = new ArrayList<>();
        for (ExecutorService worker : workers) {
            all.add(worker.submit(() -> setting.ledger().takesPart(() -> Work.burnCpu(Setting.UNIT_NS))));
        }
        setting.ledger().standsBy(() -> all.forEach(Uneven::get));
        if (!setting.isRemoved()) {
            double allOfIt = (double) (System.nanoTime() - begin) * setting.ledger().cores();
            // What one of them alone still does at the end is no fault of the scheduler, but that is one time slice.
            setting.ledger().measured(SCHEDULER, allOfIt - setting.total());
        }
    }

    @Override
    public void close() {
        workers.forEach(ExecutorService::shutdown);
    }
}
