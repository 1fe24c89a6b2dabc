package headway.workloads.md;

import java.util.Random;

/** Particles around the places of a cubic crystal without borders: what goes out on one side is seen on the other. */
final class Crystal {
    private static final double SPACING = 1.15;
    private static final int REACH = 2;
    private static final double CUTOFF = 2.5;

    private final int edge;
    private final int size;
    private final double[] position;
    private final int[] neighbours;
    private final int perParticle;

    Crystal(int edge) {
        this.edge = edge;
        size = edge * edge * edge;
        position = new double[3 * size];
        int[] offsets = offsets();
        perParticle = offsets.length / 3;
        neighbours = new int[size * perParticle];
        place(offsets);
    }

    int size() {
        return size;
    }

    /** Half of the places in reach: the other half sees this one as its neighbour. */
    private static int[] offsets() {
        int[] found = new int[3 * 200];
        int n = 0;
        for (int x = 0; x <= REACH; x++) {
            for (int y = -REACH; y <= REACH; y++) {
                for (int z = -REACH; z <= REACH; z++) {
                    boolean isUpper = x > 0 || y > 0 || (y == 0 && z > 0);
                    if (isUpper && (x * x + y * y + z * z) * SPACING * SPACING < CUTOFF * CUTOFF) {
                        found[n++] = x;
                        found[n++] = y;
                        found[n++] = z;
                    }
                }
            }
        }
        return java.util.Arrays.copyOf(found, n);
    }

    private void place(int[] offsets) {
        Random random = new Random(1);
        int[] number = shuffled(random);
        for (int place = 0; place < size; place++) {
            int x = place / edge / edge;
            int y = place / edge % edge;
            int z = place % edge;
            int i = number[place];
            position[3 * i] = SPACING * x + 0.05 * random.nextDouble();
            position[3 * i + 1] = SPACING * y + 0.05 * random.nextDouble();
            position[3 * i + 2] = SPACING * z + 0.05 * random.nextDouble();
            for (int k = 0; k < perParticle; k++) {
                int other = (wrap(x + offsets[3 * k]) * edge + wrap(y + offsets[3 * k + 1])) * edge
                        + wrap(z + offsets[3 * k + 2]);
                neighbours[i * perParticle + k] = number[other];
            }
        }
    }

    private int wrap(int coordinate) {
        return (coordinate + edge) % edge;
    }

    private int[] shuffled(Random random) {
        int[] number = new int[size];
        for (int i = 0; i < size; i++) {
            int j = random.nextInt(i + 1);
            number[i] = number[j];
            number[j] = i;
        }
        return number;
    }

    void shift(int particle, int axis, double by) {
        position[3 * particle + axis] += by;
    }

    /** Adds the forces between a particle and its neighbours to those that {@code part} found; returns their energy. */
    double interact(int i, Forces forces, int part) {
        double energy = 0;
        double length = SPACING * edge;
        for (int k = i * perParticle; k < (i + 1) * perParticle; k++) {
            int j = neighbours[k];
            double x = nearest(position[3 * i] - position[3 * j], length);
            double y = nearest(position[3 * i + 1] - position[3 * j + 1], length);
            double z = nearest(position[3 * i + 2] - position[3 * j + 2], length);
            double inverse = 1 / (x * x + y * y + z * z);
            double sixth = inverse * inverse * inverse;
            double force = 48 * inverse * sixth * (sixth - 0.5);
            energy += 4 * sixth * (sixth - 1);
            forces.add(part, i, force * x, force * y, force * z);
            forces.add(part, j, -force * x, -force * y, -force * z);
        }
        return energy;
    }

    private static double nearest(double distance, double length) {
        return distance > length / 2 ? distance - length : distance < -length / 2 ? distance + length : distance;
    }
}
