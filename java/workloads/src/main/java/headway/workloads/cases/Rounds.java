package headway.workloads.cases;

import headway.workloads.Report;
import java.util.function.IntConsumer;
import java.util.function.UnaryOperator;

/**
 * The rounds of a program: those that warm it up, a line that says so (a sweep leaves out what is before it), and those that
 * it measures.
 */
public final class Rounds {
    /** Begins the line between the two. */
    public static final String MARKER = "measuring";

    private final String program;
    private final int warmUp;
    private final int measured;

    public Rounds(String program, int warmUp, int measured) {
        this.program = program;
        this.warmUp = warmUp;
        this.measured = measured;
    }

    /** Runs all of them, as many as {@code play} is told. {@code clear} forgets what the warm-up measured; {@code fill} adds what the program knows. */
    public void run(IntConsumer play, Runnable clear, UnaryOperator<Report> fill) {
        play.accept(warmUp);
        clear.run();
        Report.of(MARKER).put("ns", System.nanoTime()).print();
        long begin = System.nanoTime();
        play.accept(measured);
        long end = System.nanoTime();
        fill.apply(Report.of(program).put("begin_ns", begin).put("end_ns", end).put("wall_ns", end - begin)
                .put("warm_up_rounds", warmUp).put("rounds", measured)).print();
    }
}
