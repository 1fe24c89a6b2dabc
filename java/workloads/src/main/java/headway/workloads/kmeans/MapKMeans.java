package headway.workloads.kmeans;

import headway.workloads.cases.Team;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Version 4: each thread has sums of its own, in maps by cluster and number of the sum that it asks for each number anew. */
final class MapKMeans extends ArrayKMeans {
    private final List<Map<Integer, Map<Integer, Sum>>> own = new ArrayList<>();

    MapKMeans(Team team, int points) {
        super(team, points);
        for (int part = 0; part < team.parts(); part++) {
            own.add(new HashMap<>());
        }
    }

    @Override
    void addUp() {
        team.parallel("tally", this::tally);
    }

    @Override
    void tally(int part) {
        Map<Integer, Map<Integer, Sum>> mine = new HashMap<>();
        int end = first(part + 1);
        for (int p = first(part); p < end; p++) {
            int cluster = nearest[p];
            int at = p * DIMENSIONS;
            sum(mine, cluster, 0).add(1);
            int n = 1 + DIMENSIONS;
            for (int d = 0; d < DIMENSIONS; d++) {
                sum(mine, cluster, 1 + d).add(data[at + d]);
                for (int e = 0; e <= d; e++) {
                    sum(mine, cluster, n++).add(data[at + d] * data[at + e]);
                }
            }
        }
        own.set(part, mine);
    }

    private static Sum sum(Map<Integer, Map<Integer, Sum>> sums, int cluster, int number) {
        return sums.computeIfAbsent(cluster, c -> new HashMap<>()).computeIfAbsent(number, n -> new Sum());
    }

    @Override
    void update() {
        Tally.clear(tallies);
        for (Map<Integer, Map<Integer, Sum>> mine : own) {
            mine.forEach((c, row) -> row.forEach((n, sum) -> tallies[c].add(n, sum)));
        }
        super.update();
    }
}
