package headway.workloads.kmeans;

import headway.workloads.Work;
import headway.workloads.cases.Rounds;
import headway.workloads.cases.Team;

/**
 * K-means clustering, sequential and in five parallel versions, each without what limited the one before: 1 has array lists
 * and adds up the clusters sequentially (tally); 2 has arrays; 3 adds up in parallel, in sums that all threads share, with
 * locks; 4 in sums of each thread, found through maps; 5 without maps.
 *
 * <p>A round reads new points (load), then repeats: which centre is nearest (assign), sums of each cluster (tally), new
 * centres (update).
 *
 * <p>Arguments: sequential-lists, sequential-arrays, 1, 2, 3, 4 or 5; threads; rounds (10); steps in a round (5); points
 * (200000); rounds to warm up (4).
 */
public final class KMeans {
    private KMeans() {}

    public static void main(String[] args) {
        String version = Work.argument(args, 0, "sequential-arrays");
        boolean isSequential = version.startsWith("sequential");
        int threads = Work.argument(args, 1, 1);
        Rounds rounds = new Rounds("kmeans", Work.argument(args, 5, 4), Work.argument(args, 2, 10), args);
        int steps = Work.argument(args, 3, 5);
        try (Team team = isSequential ? Team.alone() : Team.of(threads)) {
            Clustering clustering = of(version, team, Work.argument(args, 4, 200_000));
            rounds.run(count -> clustering.play(count, steps), () -> {
                team.clear();
                clustering.clear();
            }, line -> clustering.report(team.report(line.put("version", version).put("threads", team.parts())
                    .put("checksum", clustering.checksum()))));
        }
    }

    private static Clustering of(String version, Team team, int points) {
        return switch (version) {
            case "sequential-lists", "1" -> new ListKMeans(team, points);
            case "sequential-arrays", "2" -> new ArrayKMeans(team, points);
            case "3" -> new LockedKMeans(team, points);
            case "4" -> new MapKMeans(team, points);
            case "5" -> new OwnSumsKMeans(team, points);
            default -> throw new IllegalArgumentException("no version " + version);
        };
    }
}
