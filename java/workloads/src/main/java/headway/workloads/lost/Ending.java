package headway.workloads.lost;

import headway.workloads.Report;
import headway.workloads.Work;

/**
 * A shutdown hook that works alone and now and then stands still: all cores that are idle meanwhile are lost to the end of the
 * JVM. It prints its line itself, when the program has ended. Removed: all threads do that work alike.
 */
final class Ending {
    private static final Label END = Label.of("jvm_end");

    private final Setting setting;

    private Ending(Setting setting) {
        this.setting = setting;
    }

    static void playAtTheEnd(String name, Setting setting, int rounds) {
        Ending ending = new Ending(setting);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            long begin = System.nanoTime();
            setting.ledger().takesPart(() -> {
                for (int i = 0; i < rounds; i++) {
                    ending.round();
                }
            });
            long end = System.nanoTime();
            setting.ledger().report(Report.of("case").put("name", name).put("begin_ns", begin).put("end_ns", end)
                    .put("wall_ns", end - begin)).print();
        }, "hook"));
    }

    private void round() {
        if (setting.isRemoved()) {
            setting.together(setting.total());
            return;
        }
        long stillMillis = (long) (Setting.UNIT_NS * (1 - setting.size())) / 1_000_000;
        setting.ledger().section(END, () -> {
            Work.burnCpu(setting.total());
            setting.ledger().waits(END, () -> Work.sleep(stillMillis));
        });
    }
}
