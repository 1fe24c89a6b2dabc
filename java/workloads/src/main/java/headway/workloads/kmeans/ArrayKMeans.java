package headway.workloads.kmeans;

import headway.workloads.cases.Team;

/** Version 2: arrays, with the clusters added up sequentially. The later versions only add up otherwise. */
class ArrayKMeans extends Clustering {
    final double[] data;
    final byte[] nearest;

    ArrayKMeans(Team team, int points) {
        super(team, points);
        data = new double[points * DIMENSIONS];
        nearest = new byte[points];
    }

    @Override
    final void load() {
        restart();
        for (int p = 0; p < points; p++) {
            for (int d = 0; d < DIMENSIONS; d++) {
                data[p * DIMENSIONS + d] = coordinate(p, d);
            }
        }
    }

    @Override
    final void assign(int part) {
        int end = first(part + 1);
        for (int p = first(part); p < end; p++) {
            int best = 0;
            double bestDistance = Double.MAX_VALUE;
            for (int c = 0; c < CLUSTERS; c++) {
                double[] centre = centres[c];
                double distance = 0;
                for (int d = 0; d < DIMENSIONS; d++) {
                    double difference = data[p * DIMENSIONS + d] - centre[d];
                    distance += difference * difference;
                }
                if (distance < bestDistance) {
                    bestDistance = distance;
                    best = c;
                }
            }
            nearest[p] = (byte) best;
        }
    }

    @Override
    void tally(int part) {
        Tally.clear(tallies);
        add(tallies, 0, points);
    }

    final void add(Tally[] into, int from, int to) {
        for (int p = from; p < to; p++) {
            into[nearest[p]].add(data, p * DIMENSIONS);
        }
    }
}
