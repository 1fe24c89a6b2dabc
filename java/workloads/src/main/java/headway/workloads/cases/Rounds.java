package headway.workloads.cases;

import headway.workloads.Report;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.function.IntConsumer;
import java.util.function.UnaryOperator;

/**
 * The rounds of a program: those that warm it up, a line that says so (a sweep leaves out what is before it), and those that
 * it measures. With the last argument {@code driven} it measures them once for each line of input, so that runs of one JVM
 * can be compared.
 */
public final class Rounds {
    /** Begins the line between the two. */
    public static final String MARKER = "measuring";

    private final String program;
    private final int warmUp;
    private final int measured;
    private final boolean isDriven;

    public Rounds(String program, int warmUp, int measured, String[] args) {
        this.program = program;
        this.warmUp = warmUp;
        this.measured = measured;
        isDriven = args.length > 0 && args[args.length - 1].equals("driven");
    }

    /** Runs all of them, as many as {@code play} is told. {@code clear} forgets what the warm-up measured; {@code fill} adds what the program knows. */
    public void run(IntConsumer play, Runnable clear, UnaryOperator<Report> fill) {
        play.accept(warmUp);
        if (!isDriven) {
            clear.run();
            Report.of(MARKER).put("ns", System.nanoTime()).print();
            measure(play, fill);
            return;
        }
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try {
            while (asked.readLine() != null) {
                clear.run();
                measure(play, fill);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void measure(IntConsumer play, UnaryOperator<Report> fill) {
        long begin = System.nanoTime();
        play.accept(measured);
        long end = System.nanoTime();
        fill.apply(Report.of(program).put("begin_ns", begin).put("end_ns", end).put("wall_ns", end - begin)
                .put("warm_up_rounds", warmUp).put("rounds", measured)).print();
    }
}
