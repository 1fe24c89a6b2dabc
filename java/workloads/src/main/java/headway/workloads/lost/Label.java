package headway.workloads.lost;

/**
 * A cause of lost cores, by headway's name for it, and the place that an answer must name: {@code kind} says what it is (lock:
 * an identity hash; thread: a name; method: Class.method; none).
 */
record Label(String cause, String kind, String place) {
    static Label of(String cause) {
        return new Label(cause, "none", "");
    }

    static Label thread(String cause, String name) {
        return new Label(cause, "thread", name);
    }

    static Label lock(String cause, Object blocker) {
        return new Label(cause, "lock", Integer.toHexString(System.identityHashCode(blocker)));
    }
}
