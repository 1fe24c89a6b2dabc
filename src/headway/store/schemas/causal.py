"""The table schemas of a causal recording: experiments, progress points, lines (docs/explanation/causal.md)."""

from __future__ import annotations

from headway.store.table_types import Column, TableSchema

CAUSAL_RUN = TableSchema(
    "causal_run",
    "Causal recordings: each JVM that experiments were made in, in order of start. A run of the command that starts several JVMs "
    "has a row for each.",
    (
        Column("run", "INTEGER", "dense id, 0.."),
        Column("pid", "INTEGER", "the JVM"),
        Column("start_ns", "BIGINT", "the agent was ready"),
        Column("dur_ns", "BIGINT", "until the JVM ended or the experiments did; of a killed JVM until its last note"),
        Column("timer", "VARCHAR", "what samples come from: perf, posix"),
        Column("period_ns", "BIGINT", "CPU time of a thread between two samples"),
        Column("mode", "VARCHAR", "experiments, end-to-end (one experiment as long as the run), suggest"),
        Column("exit_code", "INTEGER", "of the command; null: not known, or it ran on", nullable=True),
        Column("cores", "INTEGER", "processors of the JVM"),
    ),
)

CAUSAL_POINT = TableSchema(
    "causal_point",
    "Causal recordings: progress points of each run, and with --suggest what may be one.",
    (
        Column("run", "INTEGER", "causal_run.run"),
        Column("point", "INTEGER", "id within the run"),
        Column("name", "VARCHAR", "as given, or where"),
        Column("kind", "VARCHAR", "method, line, api, latency_begin, latency_end, candidate"),
        Column("where", "VARCHAR", "CLASS.METHOD or CLASS:LINE"),
        Column("hits", "BIGINT", "visits in the whole run"),
        Column("pair", "INTEGER", "which latency pair it belongs to; -1: none", nullable=True),
        Column("places", "INTEGER", "methods that count it; 0: its class was never loaded", nullable=True),
        Column("variation", "DOUBLE", "standard deviation / mean of its visits per second", nullable=True),
        Column("last_hit_ns", "BIGINT", "when its visits were last seen to have grown", nullable=True),
        Column(
            "on_stacks",
            "DOUBLE",
            "with --suggest: share of the sampled stacks of running threads that the method is on",
            nullable=True,
        ),
        Column("outer_frames", "DOUBLE", "mean number of frames in scope further out on these stacks", nullable=True),
    ),
)

CAUSAL_LINE = TableSchema(
    "causal_line",
    "Causal recordings: what samples fell on, and targets of experiments; summed over the runs.",
    (
        Column("line", "INTEGER", "dense id, 0.."),
        Column("kind", "VARCHAR", "line, method, lock (the critical sections of a class's monitors), gc (pauses)"),
        Column("class_name", "VARCHAR", "com.acme.Order"),
        Column("method", "VARCHAR", "its name, without signature; empty for lock and gc"),
        Column("file", "VARCHAR", "source file by the class; empty: it does not say"),
        Column("line_number", "INTEGER", "source line; 0 for what is no line"),
        Column(
            "cpu_ns",
            "BIGINT",
            "CPU time of samples whose innermost frame in scope this is; of a method the sum of its lines",
        ),
        Column("blocked_ns", "BIGINT", "the same of time asleep, in I/O or in a wait that timed out"),
        Column("samples", "BIGINT", "how many samples"),
    ),
)

EXPERIMENT = TableSchema(
    "experiment",
    "Causal recordings: for dur_ns, `line` was made faster by speedup_pct percent, virtually: whenever a thread ran it, all "
    "others were delayed. Its effective duration is dur_ns - delay_ns.",
    (
        Column("run", "INTEGER", "causal_run.run"),
        Column("experiment", "INTEGER", "id within the run"),
        Column("line", "INTEGER", "causal_line.line; null: none (a run that is compared with)", nullable=True),
        Column("speedup_pct", "INTEGER", "0: a baseline"),
        Column("start_ns", "BIGINT", "begin"),
        Column("dur_ns", "BIGINT", "length"),
        Column("delay_ns", "BIGINT", "what every thread had to be delayed by"),
        Column("gc_ns", "BIGINT", "GC pauses inside"),
        Column("gcs", "INTEGER", "how many"),
        Column(
            "hits_ns",
            "BIGINT",
            "time that samples of the line stand for; where several threads slept in it at once, once",
        ),
        Column(
            "all_hits_ns",
            "BIGINT",
            "the same, the sum over the threads that slept in it; null: an earlier headway did not tell",
            nullable=True,
        ),
        Column("hits", "BIGINT", "samples of the line"),
        Column("samples", "BIGINT", "all samples"),
        Column("sampled_ns", "BIGINT", "time that they stand for"),
        Column("waited_ns", "BIGINT", "time that threads were ready to run and had no core"),
        Column("is_spin", "BOOLEAN", "delays were spun, because the cores were taken; else slept"),
        Column("is_complete", "BOOLEAN", "not cut off by the end of the run"),
        Column("ran_ns", "BIGINT", "of sampled_ns, running; null: an earlier headway did not tell", nullable=True),
        Column(
            "stood_ns",
            "BIGINT",
            "time that threads stood still for delays, summed over threads, of each stop 5 ms at most; sleeps made shorter "
            "count as well; null: an earlier headway did not tell",
            nullable=True,
        ),
        Column(
            "is_control",
            "BOOLEAN",
            "all threads stood still again and again, and nothing was faster: what stops themselves cost",
            nullable=True,
        ),
    ),
)

EXPERIMENT_VISIT = TableSchema(
    "experiment_visit",
    "Causal recordings: visits of each progress point during an experiment.",
    (
        Column("run", "INTEGER", "causal_run.run"),
        Column("experiment", "INTEGER", "experiment.experiment"),
        Column("point", "INTEGER", "causal_point.point"),
        Column("visits", "BIGINT", "how many"),
    ),
)

EXPERIMENT_LATENCY = TableSchema(
    "experiment_latency",
    "Causal recordings: latency pairs during an experiment, for Little's law: mean latency = in_flight_ns / begun.",
    (
        Column("run", "INTEGER", "causal_run.run"),
        Column("experiment", "INTEGER", "experiment.experiment"),
        Column("pair", "INTEGER", "causal_point.pair"),
        Column("begun", "BIGINT", "visits of its begin"),
        Column("ended", "BIGINT", "visits of its end"),
        Column("in_flight_begin", "BIGINT", "begun and not ended when the experiment began"),
        Column("in_flight_ns", "BIGINT", "integral of the number in flight over effective time"),
    ),
)

CAUSAL_HEALTH = TableSchema(
    "causal_health",
    "Causal recordings: how well sampling and delays worked, per run.",
    (
        Column("run", "INTEGER", "causal_run.run"),
        Column(
            "key",
            "VARCHAR",
            "samples, faults, refused.CODE (stacks that could not be walked), late_payments, threads, threads_without_timer, "
            "spin_ns, slept_ns, overslept_ns, out_of_scope_ns, unread_ns, unread.WHAT (ns by what was running: a stub of the "
            "JVM, a library, ...), found_frames (stacks that headway found the Java caller of, where the JVM did not), "
            "old_code_ns (in scope, in code compiled before the attach), safepoint_lines (1: compiled code knows the lines of "
            "safepoints alone)",
        ),
        Column("value", "BIGINT", "count, or ns where the key ends in _ns or begins with unread"),
    ),
)

CAUSAL_NEAR = TableSchema(
    "causal_near",
    "Causal recordings: progress points, or targets, that could not be placed, with names that are near.",
    (
        Column("run", "INTEGER", "causal_run.run"),
        Column("name", "VARCHAR", "of the point"),
        Column("where", "VARCHAR", "what it names"),
        Column("reason", "VARCHAR", "no_class, no_method, no_line, no_line_numbers, ambiguous, refused"),
        Column("near", "VARCHAR", "names that are near, comma and blank between"),
    ),
)

ALL = (
    *(CAUSAL_RUN, CAUSAL_POINT, CAUSAL_LINE, EXPERIMENT),
    *(EXPERIMENT_VISIT, EXPERIMENT_LATENCY, CAUSAL_HEALTH, CAUSAL_NEAR),
)
