package headway.workloads.lost;

import headway.workloads.Work;

/** The main thread does the share {@code size} of the work alone, before the others do the rest. */
final class Serial implements Case {
    private static final Label ALONE = Label.thread("serial_section", "main");

    private final Setting setting;

    Serial(Setting setting) {
        this.setting = setting;
    }

    @Override
    public void round() {
        long alone = setting.isRemoved() ? 0 : (long) (setting.total() * setting.size());
        if (alone > 0) {
            setting.ledger().section(ALONE, () -> alone(alone));
        }
        setting.together(setting.total() - alone);
    }

    private static void alone(long nanos) {
        Work.burnCpu(nanos);
    }
}
