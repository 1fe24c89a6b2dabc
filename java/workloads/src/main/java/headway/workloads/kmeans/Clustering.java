package headway.workloads.kmeans;

import headway.workloads.Report;
import headway.workloads.cases.Team;

/** What all versions share: the order of the phases, where points come from, and the centres. */
abstract class Clustering {
    static final int CLUSTERS = 8;
    static final int DIMENSIONS = 8;

    final Team team;
    final int points;
    final double[][] centres = new double[CLUSTERS][DIMENSIONS];
    final Tally[] tallies = Tally.ofAll();
    private long random;

    Clustering(Team team, int points) {
        this.team = team;
        this.points = points;
    }

    /** Clusters new points in every round; they are the same ones. */
    final void play(int rounds, int steps) {
        for (int round = 0; round < rounds; round++) {
            team.sequential("load", this::load);
            for (int i = 0; i < steps; i++) {
                team.parallel("assign", this::assign);
                addUp();
                team.sequential("update", this::update);
            }
        }
    }

    /** Adds up the clusters: sequentially, unless a version does it otherwise. */
    void addUp() {
        team.sequential("tally", () -> tally(0));
    }

    abstract void load();

    /** Finds the nearest centre of each point of a part. */
    abstract void assign(int part);

    /** Adds up the points of a part, by cluster. */
    abstract void tally(int part);

    /** Moves each centre into the middle of its cluster. */
    void update() {
        for (int c = 0; c < CLUSTERS; c++) {
            for (int d = 0; d < DIMENSIONS; d++) {
                centres[c][d] = tallies[c].mean(d, centres[c][d]);
            }
        }
    }

    /** Forgets what was measured so far. */
    void clear() {}

    /** Adds what only this version measures. */
    Report report(Report line) {
        return line;
    }

    final int first(int part) {
        return (int) ((long) points * part / team.parts());
    }

    /** The points lie around {@code CLUSTERS} places that are far from each other. */
    final void restart() {
        random = 42;
        for (int c = 0; c < CLUSTERS; c++) {
            for (int d = 0; d < DIMENSIONS; d++) {
                centres[c][d] = place(c, d) + (c + d) % 3;
            }
        }
    }

    final double coordinate(int point, int dimension) {
        double radius = Math.sqrt(-2 * Math.log(uniform()));
        return place(point % CLUSTERS, dimension) + radius * Math.cos(2 * Math.PI * uniform());
    }

    private static double place(int cluster, int dimension) {
        return 10.0 * ((cluster >> (dimension % 4)) & 1);
    }

    private double uniform() {
        random = random * 6364136223846793005L + 1442695040888963407L;
        return ((random >>> 11) + 0.5) * 0x1p-53;
    }

    /** A number that differs when any cluster does. */
    final double checksum() {
        double sum = 0;
        for (int c = 0; c < CLUSTERS; c++) {
            sum += tallies[c].spread();
            for (int d = 0; d < DIMENSIONS; d++) {
                sum += centres[c][d] * (c * DIMENSIONS + d + 1);
            }
        }
        return sum;
    }
}
