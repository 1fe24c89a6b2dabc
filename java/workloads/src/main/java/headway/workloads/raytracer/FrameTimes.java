package headway.workloads.raytracer;

import headway.workloads.Work;
import headway.workloads.cases.Phase;

/** When one thread began, rendered and left each frame, by the clock and by its CPU clock. */
final class FrameTimes {
    private final long[][] wall;
    private final long[][] cpu;

    FrameTimes(int frames) {
        wall = new long[3][frames];
        cpu = new long[3][frames];
    }

    int frames() {
        return wall[0].length;
    }

    void begin(int frame) {
        take(0, frame);
    }

    void rendered(int frame) {
        take(1, frame);
    }

    void met(int frame) {
        take(2, frame);
    }

    private void take(int at, int frame) {
        wall[at][frame] = System.nanoTime();
        cpu[at][frame] = Work.cpuNanos();
    }

    long wall(int frame) {
        return wall[2][frame] - wall[0][frame];
    }

    void addTo(Phase render, Phase waiting, int part, int frame) {
        render.used(part, cpu[1][frame] - cpu[0][frame]);
        waiting.used(part, cpu[2][frame] - cpu[1][frame]);
        waiting.waited(part, wall[2][frame] - wall[1][frame]);
    }
}
