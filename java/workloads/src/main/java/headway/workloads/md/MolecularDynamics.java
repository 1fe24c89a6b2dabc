package headway.workloads.md;

import headway.workloads.Work;
import headway.workloads.cases.Rounds;
import headway.workloads.cases.Team;

/**
 * Molecular dynamics: particles around the places of a crystal that attract and repel their neighbours (Lennard-Jones).
 * Particles that are neighbours lie far apart in memory.
 *
 * <p>Versions: sequential; balanced (each thread has forces of its own); memory-bound (the forces of all threads lie
 * side by side: threads take the same cache lines from each other); unbalanced (the busiest thread has ten times as many
 * particles as the one with the fewest).
 *
 * <p>Arguments: version; threads; steps (120); particles along an edge of the crystal (32); steps to warm up (40).
 */
public final class MolecularDynamics {
    private static final double TIME_STEP = 0.002;

    private final Team team;
    private final Crystal crystal;
    private final Forces forces;
    private final int[] first;
    private final double[] velocity;
    private final double[] potential;

    private MolecularDynamics(Team team, Crystal crystal, String version) {
        this.team = team;
        this.crystal = crystal;
        velocity = new double[3 * crystal.size()];
        potential = new double[16 * team.parts()];
        forces = version.equals("memory-bound") ? Forces.sideBySide(crystal.size(), team.parts())
                : Forces.apart(crystal.size(), team.parts());
        first = Shares.first(crystal.size(), team.parts(), version.equals("unbalanced") ? 10 : 1);
    }

    public static void main(String[] args) {
        String version = Work.argument(args, 0, "sequential");
        int threads = Work.argument(args, 1, 1);
        Rounds rounds = new Rounds("molecular_dynamics", Work.argument(args, 4, 40), Work.argument(args, 2, 120), args);
        Crystal crystal = new Crystal(Work.argument(args, 3, 32));
        try (Team team = version.equals("sequential") ? Team.alone() : Team.of(threads)) {
            MolecularDynamics simulation = new MolecularDynamics(team, crystal, version);
            rounds.run(simulation::play, team::clear, line -> team.report(line.put("version", version)
                    .put("threads", team.parts()).put("checksum", simulation.energy())));
        }
    }

    private void play(int steps) {
        for (int i = 0; i < steps; i++) {
            team.parallel("force", this::force);
            team.parallel("move", this::move);
        }
    }

    /** Computes the forces between the particles of a part and their neighbours of higher number. */
    private void force(int part) {
        forces.clear(part);
        double energy = 0;
        for (int i = first[part]; i < first[part + 1]; i++) {
            energy += crystal.interact(i, forces, part);
        }
        potential[16 * part] = energy;
    }

    /** Adds up what all parts found for a particle, and moves it. Every part moves as many: this takes little time. */
    private void move(int part) {
        int size = crystal.size();
        int end = (int) ((long) size * (part + 1) / team.parts());
        for (int i = (int) ((long) size * part / team.parts()); i < end; i++) {
            for (int axis = 0; axis < 3; axis++) {
                velocity[3 * i + axis] += TIME_STEP * forces.total(i, axis);
                crystal.shift(i, axis, TIME_STEP * velocity[3 * i + axis]);
            }
        }
    }

    /** The energy of the whole crystal, by the forces of the last step. */
    private double energy() {
        double sum = 0;
        for (int part = 0; part < team.parts(); part++) {
            sum += potential[16 * part];
        }
        for (double each : velocity) {
            sum += each * each / 2;
        }
        return sum;
    }
}
