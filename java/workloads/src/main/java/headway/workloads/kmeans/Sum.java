package headway.workloads.kmeans;

/** A sum without rounding errors that depend on the order (Kahan), so that all versions find the same centres. */
final class Sum {
    private double sum;
    private double error;

    void add(double value) {
        double y = value - error;
        double t = sum + y;
        error = (t - sum) - y;
        sum = t;
    }

    void add(Sum other) {
        add(other.sum);
        add(-other.error);
    }

    void clear() {
        sum = 0;
        error = 0;
    }

    double value() {
        return sum;
    }
}
