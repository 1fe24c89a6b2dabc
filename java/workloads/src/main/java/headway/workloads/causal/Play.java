package headway.workloads.causal;

import headway.workloads.Report;
import headway.workloads.Work;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A program that is played: its lines, whose work is known, and its threads. */
public final class Play {
    private final Map<String, Load> loads = new LinkedHashMap<>();
    private final List<Thread> threads = new ArrayList<>();
    private final double roundsPerMicro;
    private final int threadCount;
    private final int longer;

    /**
     * {@code roundsPerMicro}: of {@link Work#spin} in a microsecond; {@code threadCount}: 0 for what the case takes by itself;
     * {@code longer}: everything takes so many times longer.
     */
    public Play(double roundsPerMicro, int threadCount, int longer) {
        this.roundsPerMicro = roundsPerMicro * longer;
        this.threadCount = threadCount;
        this.longer = longer;
    }

    int longer() {
        return longer;
    }

    int threads(int otherwise) {
        return threadCount > 0 ? threadCount : otherwise;
    }

    /** A line that computes for so many microseconds. */
    Load micros(String line, double micros) {
        return pieces(line, micros * roundsPerMicro);
    }

    /** A line that does something else, so many times, however long rounds are. */
    Load pieces(String line, double count) {
        Load load = new Load(line, count);
        loads.put(line, load);
        return load;
    }

    /** Rounds of work that is no line of interest and never changes. */
    int rounds(double micros) {
        return (int) Math.round(micros * roundsPerMicro);
    }

    /** A thread that does {@code turn} again and again, until the program ends. */
    void forever(String name, Turn turn) {
        Thread thread = new Thread(() -> repeat(turn), name);
        thread.setDaemon(true);
        threads.add(thread);
    }

    private static void repeat(Turn turn) {
        double x = 1.0;
        try {
            while (true) {
                x = turn.take(x);
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        } finally {
            Work.sink = x;
        }
    }

    public void start() {
        threads.forEach(Thread::start);
    }

    public Load load(String line) {
        Load load = loads.get(line);
        if (load == null) {
            throw new IllegalArgumentException("no line " + line + ": there are " + loads.keySet());
        }
        return load;
    }

    public List<Report> threadReports() {
        return threads.stream()
                .map(each -> Report.of("thread").put("name", each.getName()).put("cpu_ns", Work.cpuNanos(each)))
                .toList();
    }

    /** What a thread does in each turn; it gives the value on that goes through all computing, so that none can be left out. */
    interface Turn {
        double take(double x) throws Exception;
    }
}
