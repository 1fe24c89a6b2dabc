package headway.workloads.raytracer;

import headway.workloads.Report;
import headway.workloads.Work;
import headway.workloads.cases.Phase;
import headway.workloads.cases.Rounds;
import java.util.ArrayList;
import java.util.List;

/**
 * Ray tracing of spheres, which are all in the lower half of the picture. Threads take a block of its lines each, and meet
 * at a barrier after every frame: one that waits busily, or a CyclicBarrier.
 *
 * <p>Arguments: sequential, spinning or cyclic; threads; frames (80); lines of the picture (160); frames to warm up (20).
 */
public final class RayTracer {
    private final Scene scene = new Scene();
    private final String version;
    private final int threads;
    private final int lines;
    private final Phase render;
    private final Phase waiting;
    private final double[] found;

    private RayTracer(String version, int threads, int lines) {
        this.version = version;
        this.threads = threads;
        this.lines = lines;
        render = new Phase("render", threads);
        waiting = new Phase("barrier", threads);
        found = new double[16 * threads];
    }

    public static void main(String[] args) {
        String version = Work.argument(args, 0, "sequential");
        int threads = version.equals("sequential") ? 1 : Work.argument(args, 1, 1);
        Rounds rounds = new Rounds("ray_tracer", Work.argument(args, 4, 20), Work.argument(args, 2, 80), args);
        RayTracer tracer = new RayTracer(version, threads, Work.argument(args, 3, 160));
        rounds.run(tracer::play, tracer::clear, tracer::report);
    }

    /** Renders that many frames: alone, or with threads that end with the last frame. */
    private void play(int frames) {
        Barrier barrier = Barrier.of(version, threads);
        FrameTimes[] times = new FrameTimes[threads];
        List<Thread> others = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            int part = i;
            times[part] = new FrameTimes(frames);
            if (version.equals("sequential")) {
                work(part, barrier, times[part]);
            } else {
                others.add(new Thread(() -> work(part, barrier, times[part]), "tracer-" + part));
            }
        }
        others.forEach(Thread::start);
        others.forEach(Work::join);
        addUp(times);
    }

    /** All frames of one part. */
    private void work(int part, Barrier barrier, FrameTimes times) {
        found[16 * part] = 0;
        for (int frame = 0; frame < times.frames(); frame++) {
            times.begin(frame);
            found[16 * part] += render(lines * part / threads, lines * (part + 1) / threads);
            times.rendered(frame);
            barrier.await();
            times.met(frame);
        }
    }

    /** The sum of all colours of some lines. */
    private double render(int from, int to) {
        double sum = 0;
        for (int y = from; y < to; y++) {
            for (int x = 0; x < lines; x++) {
                sum += scene.colour((x + 0.5) / lines - 0.5, 0.5 - (y + 0.5) / lines);
            }
        }
        return sum;
    }

    private void addUp(FrameTimes[] times) {
        for (int frame = 0; frame < times[0].frames(); frame++) {
            for (int part = 0; part < threads; part++) {
                times[part].addTo(render, waiting, part, frame);
            }
            render.over(times[0].wall(frame));
            waiting.over(times[0].wall(frame));
        }
    }

    private void clear() {
        render.clear();
        waiting.clear();
    }

    private Report report(Report line) {
        double sum = 0;
        for (int part = 0; part < threads; part++) {
            sum += found[16 * part];
        }
        return line.put("version", version).put("threads", threads).put("checksum", sum)
                .put("sequential", List.of()).put("parallel", List.of(render.report(), waiting.report()));
    }
}
