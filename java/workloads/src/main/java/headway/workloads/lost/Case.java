package headway.workloads.lost;

/** One way to lose cores, played in rounds. With the cause removed, a round does the same work. */
interface Case extends AutoCloseable {
    /** How a case is made. */
    interface Maker {
        Case make(Setting setting);
    }

    void round();

    @Override
    default void close() {}
}
