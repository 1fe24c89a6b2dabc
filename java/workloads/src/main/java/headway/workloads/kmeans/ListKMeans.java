package headway.workloads.kmeans;

import headway.workloads.cases.Team;
import java.util.ArrayList;
import java.util.List;

/** Version 1: points are array lists of numbers, and so are the clusters, which are filled and added up sequentially. */
final class ListKMeans extends Clustering {
    private final List<List<Double>> data = new ArrayList<>();
    private final List<Integer> nearest = new ArrayList<>();
    private final List<List<List<Double>>> clusters = new ArrayList<>();

    ListKMeans(Team team, int points) {
        super(team, points);
        for (int p = 0; p < points; p++) {
            List<Double> point = new ArrayList<>();
            for (int d = 0; d < DIMENSIONS; d++) {
                point.add(0.0);
            }
            data.add(point);
            nearest.add(0);
        }
        for (int c = 0; c < CLUSTERS; c++) {
            clusters.add(new ArrayList<>());
        }
    }

    @Override
    void load() {
        restart();
        for (int p = 0; p < points; p++) {
            for (int d = 0; d < DIMENSIONS; d++) {
                data.get(p).set(d, coordinate(p, d));
            }
        }
    }

    @Override
    void assign(int part) {
        for (int p = first(part); p < first(part + 1); p++) {
            List<Double> point = data.get(p);
            int best = 0;
            double bestDistance = Double.MAX_VALUE;
            for (int c = 0; c < CLUSTERS; c++) {
                double distance = 0;
                for (int d = 0; d < DIMENSIONS; d++) {
                    double difference = point.get(d) - centres[c][d];
                    distance += difference * difference;
                }
                if (distance < bestDistance) {
                    bestDistance = distance;
                    best = c;
                }
            }
            nearest.set(p, best);
        }
    }

    @Override
    void tally(int part) {
        for (List<List<Double>> cluster : clusters) {
            cluster.clear();
        }
        for (int p = 0; p < points; p++) {
            clusters.get(nearest.get(p)).add(data.get(p));
        }
        Tally.clear(tallies);
        for (int c = 0; c < CLUSTERS; c++) {
            for (List<Double> point : clusters.get(c)) {
                tallies[c].add(point);
            }
        }
    }
}
