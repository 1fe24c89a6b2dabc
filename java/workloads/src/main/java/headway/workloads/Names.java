package headway.workloads;

/** Threads with names that break careless tools. Prints each name (escaped) with its thread's id and flags. */
public final class Names {
    private static final String[] NAMES = {
        "<script>alert('x')</script>&amp;\"",
        "w\u00f6rker-\u03a9-\u7dda\u7a0b",
        "astral-\ud83d\ude80",
        "lone-surrogate-\ud83d",
        "nul-\u0000-inside",
        "line\nbreak\ttab",
        "",
        "comma,quote\"back\\slash",
        "x".repeat(5000),
    };

    private Names() {}

    public static void main(String[] args) {
        ThreadGroup group = new ThreadGroup("gr\u00f6up<b>");
        for (int i = 0; i < NAMES.length; i++) {
            Thread thread = new Thread(group, () -> Work.burnCpu(1_000_000), NAMES[i]);
            thread.setDaemon(i % 2 == 1);
            thread.start();
            Work.join(thread);
            Report.of("thread").put("name", thread.getName()).put("java_id", id(thread)).put("daemon", thread.isDaemon())
                    .print();
        }
        Thread renamed = new Thread(() -> Thread.currentThread().setName("renamed-after"), "named-before");
        renamed.start();
        Work.join(renamed);
        Report.of("renamed").put("from", "named-before").put("to", "renamed-after").put("java_id", id(renamed)).print();
    }

    @SuppressWarnings("deprecation") // threadId() came with JDK 19
    private static long id(Thread thread) {
        return thread.getId();
    }
}
