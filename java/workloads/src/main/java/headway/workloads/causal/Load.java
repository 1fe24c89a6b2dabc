package headway.workloads.causal;

/** How much one line of a program has to do each time, and how much faster it is made. */
public final class Load {
    private final String name;
    private final double full;
    private volatile double now;

    Load(String name, double full) {
        this.name = name;
        this.full = full;
        this.now = full;
    }

    public String name() {
        return name;
    }

    /** Makes the line faster: at 25, it takes a quarter of its time less; at 100, none. */
    public void speedUp(int percent) {
        now = full * (100 - percent) / 100;
    }

    /** What it does now, in its own unit: rounds of computing, milliseconds, pieces. */
    int size() {
        return (int) Math.round(now);
    }
}
