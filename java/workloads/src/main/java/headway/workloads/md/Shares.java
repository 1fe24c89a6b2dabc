package headway.workloads.md;

/** How items are shared out among parts. */
final class Shares {
    private Shares() {}

    /** Where each part begins, and the end; the first part has {@code times} as many items as the last. */
    static int[] first(int items, int parts, double times) {
        double[] weight = new double[parts];
        double sum = 0;
        for (int part = 0; part < parts; part++) {
            weight[part] = parts == 1 ? 1 : Math.pow(times, -(double) part / (parts - 1));
            sum += weight[part];
        }
        int[] first = new int[parts + 1];
        double before = 0;
        for (int part = 0; part < parts; part++) {
            before += weight[part];
            first[part + 1] = part == parts - 1 ? items : (int) Math.round(items * before / sum);
        }
        return first;
    }
}
