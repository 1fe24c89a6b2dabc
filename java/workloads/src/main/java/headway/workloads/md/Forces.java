package headway.workloads.md;

/** The force on every particle, as each part found it: kept apart, or side by side on the same cache lines. */
final class Forces {
    private final double[] values;
    private final int size;
    private final int parts;
    private final int ofPart;
    private final int ofNumber;

    private Forces(int size, int parts, int ofPart, int ofNumber) {
        this.size = size;
        this.parts = parts;
        this.ofPart = ofPart;
        this.ofNumber = ofNumber;
        values = new double[3 * size * parts + 16 * parts];
    }

    static Forces apart(int size, int parts) {
        return new Forces(size, parts, 3 * size + 16, 1);
    }

    static Forces sideBySide(int size, int parts) {
        return new Forces(size, parts, 1, parts);
    }

    void clear(int part) {
        for (int n = 0; n < 3 * size; n++) {
            values[part * ofPart + n * ofNumber] = 0;
        }
    }

    void add(int part, int particle, double x, double y, double z) {
        int at = part * ofPart + 3 * particle * ofNumber;
        values[at] += x;
        values[at + ofNumber] += y;
        values[at + 2 * ofNumber] += z;
    }

    /** What all parts found for a particle. */
    double total(int particle, int axis) {
        double sum = 0;
        for (int part = 0; part < parts; part++) {
            sum += values[part * ofPart + (3 * particle + axis) * ofNumber];
        }
        return sum;
    }
}
