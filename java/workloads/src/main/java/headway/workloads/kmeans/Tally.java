package headway.workloads.kmeans;

import java.util.List;

/** What is known of a cluster: how many points it has, the sums of their coordinates, and of the products of each two. */
final class Tally {
    private static final int DIMENSIONS = Clustering.DIMENSIONS;
    static final int SUMS = 1 + DIMENSIONS + DIMENSIONS * (DIMENSIONS + 1) / 2;

    private final Sum[] sums = new Sum[SUMS];

    Tally() {
        for (int n = 0; n < SUMS; n++) {
            sums[n] = new Sum();
        }
    }

    static Tally[] ofAll() {
        Tally[] tallies = new Tally[Clustering.CLUSTERS];
        for (int c = 0; c < tallies.length; c++) {
            tallies[c] = new Tally();
        }
        return tallies;
    }

    static void clear(Tally[] tallies) {
        for (Tally tally : tallies) {
            for (Sum sum : tally.sums) {
                sum.clear();
            }
        }
    }

    /** Adds the point whose coordinates begin at {@code at}. */
    void add(double[] data, int at) {
        sums[0].add(1);
        int n = 1 + DIMENSIONS;
        for (int d = 0; d < DIMENSIONS; d++) {
            double value = data[at + d];
            sums[1 + d].add(value);
            for (int e = 0; e <= d; e++) {
                sums[n++].add(value * data[at + e]);
            }
        }
    }

    /** The same of a point that is a list. */
    void add(List<Double> point) {
        sums[0].add(1);
        int n = 1 + DIMENSIONS;
        for (int d = 0; d < DIMENSIONS; d++) {
            sums[1 + d].add(point.get(d));
            for (int e = 0; e <= d; e++) {
                sums[n++].add(point.get(d) * point.get(e));
            }
        }
    }

    void add(Tally other) {
        for (int n = 0; n < SUMS; n++) {
            sums[n].add(other.sums[n]);
        }
    }

    /** Adds to one of the sums only. */
    void add(int sum, Sum other) {
        sums[sum].add(other);
    }

    /** The middle of the cluster; {@code otherwise} while it has no points. */
    double mean(int dimension, double otherwise) {
        return sums[0].value() == 0 ? otherwise : sums[1 + dimension].value() / sums[0].value();
    }

    /** A number that differs when any of the sums of products does. */
    double spread() {
        double sum = 0;
        for (int n = 1 + DIMENSIONS; n < SUMS; n++) {
            sum += sums[n].value() / Math.max(1, sums[0].value()) * n;
        }
        return sum;
    }
}
