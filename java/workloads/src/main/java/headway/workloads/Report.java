package headway.workloads;

import java.util.Arrays;
import java.util.List;
import java.util.StringJoiner;

/** One JSON line: what a program measured of itself. Times are System.nanoTime, which is CLOCK_MONOTONIC on Linux. */
public final class Report {
    private final StringJoiner fields = new StringJoiner(", ", "{", "}");

    private Report(String event) {
        put("event", event);
    }

    public static Report of(String event) {
        return new Report(event);
    }

    public Report put(String key, long value) {
        fields.add(quote(key) + ": " + value);
        return this;
    }

    /** A number that is finite: JSON has no others. */
    public Report put(String key, double value) {
        if (!Double.isFinite(value)) {
            throw new IllegalArgumentException(key + ": " + value);
        }
        fields.add(quote(key) + ": " + value);
        return this;
    }

    public Report put(String key, boolean value) {
        fields.add(quote(key) + ": " + value);
        return this;
    }

    public Report put(String key, String value) {
        fields.add(quote(key) + ": " + quote(value));
        return this;
    }

    public Report put(String key, long[] values) {
        fields.add(quote(key) + ": " + Arrays.toString(values));
        return this;
    }

    /** Objects inside the object: each as it would be printed alone. */
    public Report put(String key, List<Report> reports) {
        fields.add(quote(key) + ": " + reports.stream().map(each -> each.fields.toString()).toList());
        return this;
    }

    /** Prints the line whole: several threads may report. */
    public void print() {
        synchronized (System.out) {
            System.out.println(fields);
            System.out.flush();
        }
    }

    /** Quotes as JSON, in ASCII only, so that the answer does not depend on the locale's charset. */
    private static String quote(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ' || c > '~') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        return out.append('"').toString();
    }
}
