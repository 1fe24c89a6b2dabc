package headway.workloads.kmeans;

import headway.workloads.cases.Team;
import java.util.ArrayList;
import java.util.List;

/** Version 5: each thread has sums of its own, in arrays; reading the points is what is left to one thread. */
final class OwnSumsKMeans extends ArrayKMeans {
    private final List<Tally[]> own = new ArrayList<>();

    OwnSumsKMeans(Team team, int points) {
        super(team, points);
        for (int part = 0; part < team.parts(); part++) {
            own.add(null);
        }
    }

    @Override
    void addUp() {
        team.parallel("tally", this::tally);
    }

    @Override
    void tally(int part) {
        Tally[] mine = Tally.ofAll(); // made by its thread: sums of two threads do not share a cache line
        add(mine, first(part), first(part + 1));
        own.set(part, mine);
    }

    @Override
    void update() {
        Tally.clear(tallies);
        for (Tally[] mine : own) {
            for (int c = 0; c < CLUSTERS; c++) {
                tallies[c].add(mine[c]);
            }
        }
        super.update();
    }
}
