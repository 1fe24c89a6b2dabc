"""What `--counters` takes: names, raw codes, PMUs of sysfs, watched addresses; and what it says to anything else."""

from __future__ import annotations

import errno
import resource
from pathlib import Path

import pytest

from headway.errors import HeadwayError
from headway.model.counter_ladder import step_of
from headway.record.counters import events, groups, usable
from headway.record.counters.descriptors import missing_descriptors
from headway.record.counters.events import Event, event
from headway.record.counters.socket_units import scale_of, socket_units
from headway.report.terminal.doctor import render


def refused(text: str) -> HeadwayError:
    with pytest.raises(HeadwayError) as found:
        groups.parse(text)
    return found.value


def test_generic_events_have_the_kernels_numbers() -> None:
    assert (event("cycles").type, event("cycles").config) == (0, 0)
    assert (event("instructions:u").config, event("instructions:u").user_only) == (1, True)
    assert (event("context-switches").type, event("context-switches").config) == (1, 3)
    # Cache 2, operation 0, result 1: PERF_COUNT_HW_CACHE_LL, OP_READ, RESULT_MISS.
    assert (event("LLC-load-misses").type, event("LLC-load-misses").config) == (3, 0x010002)
    assert (event("dTLB-stores").type, event("dTLB-stores").config) == (3, 0x000103)
    assert (event("r01b1").type, event("r01b1").config) == (4, 0x01B1)


def test_a_watched_address_is_a_breakpoint() -> None:
    found = event("mem:0x1000/8:w")
    assert (found.type, found.config1, found.config2, found.bp_type) == (5, 0x1000, 8, 2)
    assert event("mem:4096").bp_type == 3


def test_events_of_a_pmu_are_read_from_sysfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "DEVICES", tmp_path)
    for path, text in (
        ("cpu/type", "4"),
        ("cpu/events/topdown-retiring", "event=0x00,umask=0x80"),
        ("cpu/format/event", "config:0-7,32-35"),
        ("cpu/format/umask", "config:8-15"),
        ("cpu/format/ldlat", "config1:0-15"),
        ("imc/type", "12"),
        ("imc/cpumask", "0"),
        ("imc/events/reads", "event=0x04"),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text + "\n")
    assert event("cpu/topdown-retiring/").config == 0x8000
    found = event("cpu/event=0x1cd,umask=1,ldlat=30/")
    assert (found.config, found.config1) == (0xCD | 1 << 8 | 1 << 32, 30)
    assert "cpu/topdown-retiring/" in events.known_names()
    for name in ("cpu/none/", "cpu/event=x/", "nobody/event=1/", "cpu//"):
        assert refused(name).notice.id == "HW103"
    assert refused("imc/reads/").notice.id == "HW106"


def test_units_of_whole_sockets_are_listed_and_never_divided_by_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "DEVICES", tmp_path)
    for path, text in (
        ("uncore_imc_0/type", "12"),
        ("uncore_imc_0/cpumask", "0,18"),
        ("uncore_imc_0/format/event", "config:0-7"),
        ("uncore_imc_0/format/umask", "config:8-15"),
        ("uncore_imc_0/events/cas_count_read", "event=0x04,umask=0x03"),
        ("uncore_imc_0/events/cas_count_read.scale", "6.103515625e-5"),
        ("uncore_imc_0/events/cas_count_read.unit", "MiB"),
        ("uncore_imc_0/events/clockticks", "event=0x0"),
        ("power/type", "13"),
        ("power/cpumask", "0"),
        ("msr/type", "14"),
        ("msr/events/tsc", "event=0x00"),
        ("msr/format/event", "config:0-63"),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text + "\n")
    found = [each.as_json() for each in socket_units()]
    assert found == [
        {"unit": "power", "cpus": "0", "events": []},
        {
            "unit": "uncore_imc_0",
            "cpus": "0,18",
            "events": [
                {"event": "uncore_imc_0/cas_count_read/", "unit": "6.103515625e-5 MiB"},
                {"event": "uncore_imc_0/clockticks/", "unit": ""},
            ],
        },
    ]
    for name in ("uncore_imc_0/cas_count_read/", "uncore_imc_0/event=4/", "power/event=2/"):
        notice = refused(name).notice
        assert notice.id == "HW106"
        assert "whatever thread runs (it is read on CPUs 0" in notice.message
        if name != "power/event=2/":  # whose PMU has no such term
            for scope in ("cpu", "thread+cpu"):  # nor is it counted on CPUs one by one, of which it knows nothing
                asked = groups.parse(f"page-faults;{name}", scope)
                assert [[each.name for each in group] for group in asked.groups] == [["page-faults"]]
                assert [[each.name for each in group] for group in asked.of_units] == [[name]]
    assert event("msr/tsc/").type == 14
    assert scale_of("uncore_imc_0/cas_count_read/") == (6.103515625e-5, "MiB")
    assert scale_of("uncore_imc_0/clockticks/") is None


@pytest.mark.parametrize(
    ("group", "both"),
    [("imc/reads/,page-faults", "each CPU and imc"), ("imc/reads/,other/reads/", "imc and other")],
)
def test_a_group_is_of_one_counting_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: str, both: str
) -> None:
    monkeypatch.setattr(events, "DEVICES", tmp_path)
    for unit in ("imc", "other"):
        for path, text in (
            ("type", "12"),
            ("cpumask", "0"),
            ("format/event", "config:0-7"),
            ("events/reads", "event=4"),
        ):
            (tmp_path / unit / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / unit / path).write_text(text + "\n")
    with pytest.raises(HeadwayError) as found:
        groups.parse(group, "thread+cpu")
    assert found.value.notice.id == "HW105"
    assert f"{both} can't count in one group" in found.value.notice.message


def test_doctor_names_units_of_whole_sockets_apart_from_what_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "DEVICES", tmp_path)
    (tmp_path / "uncore_imc_0" / "events").mkdir(parents=True)
    for path, text in (("type", "12"), ("cpumask", "0"), ("events/clockticks", "event=0x0")):
        (tmp_path / "uncore_imc_0" / path).write_text(text + "\n")
    monkeypatch.setattr(usable, "known_names", lambda: ["uncore_imc_0/clockticks/"])
    found = usable.events_here()
    assert found["counted"] == []
    assert [each["unit"] for each in found["per_socket"]] == ["uncore_imc_0"]
    assert [each["event"] for each in found["absent"]] == ["uncore_imc_0/clockticks/"]
    findings = {"mode": "ebpf", "checks": [], "lost": [], "way_up": "", "counters": found}
    checks = [{"id": "native", "ok": True, "message": "", "remedy": ""}]
    text = " ".join(render({**findings, "checks": checks}).split())
    assert (
        "--counter-scope cpu, never by thread, as these units count for all CPUs of a socket or core: uncore_imc_0"
        in text
    )
    assert "clockticks" not in text


def test_doctor_says_how_many_counters_there_are_and_what_counts_only_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a processor of four counters, for one of whose events another tool leaves half of the time."""

    def tried(asked: list[tuple[Event, ...]]) -> list[list[dict[str, int]]]:
        def of(each: Event, group: tuple[Event, ...]) -> dict[str, int]:
            could = 1000 if len(group) <= 4 else 0
            return seen(5, 5, could // 2 if each.name == "cycles" else could)

        return [[of(each, group) for each in group] for group in asked]

    monkeypatch.setattr(usable, "_tried", tried)
    monkeypatch.setattr(usable, "known_names", lambda: ["cycles", "instructions", "page-faults"])
    found = usable.events_here()
    assert (found["counted"], found["in_turn"], found["at_once"]) == (
        ["cycles", "instructions", "page-faults"],
        ["cycles"],
        4,
    )
    checks = [{"id": "native", "ok": True, "message": "", "remedy": ""}]
    text = " ".join(render({"mode": "ebpf", "checks": checks, "lost": [], "way_up": "", "counters": found}).split())
    assert "4 counters of the processor at once" in text
    assert "only in turn with what others count: cycles" in text
    assert usable.at_once([event("page-faults")]) is None


def test_groups_are_split_at_semicolons_but_not_inside_a_pmu() -> None:
    found = groups._split("a/b=1,c=2/,mem:0x10/4:w,d", ",")
    assert found == ["a/b=1,c=2/", "mem:0x10/4:w", "d"]
    parsed = groups.parse("cycles,instructions;page-faults")
    assert [[each.name for each in group] for group in parsed.groups] == [["cycles", "instructions"], ["page-faults"]]
    assert groups.parse("default").is_default


@pytest.mark.parametrize("text", ["", " ", "cycles;;cycles", "cycles,", ";", "cycles,cycles"])
def test_empty_groups_and_events_twice_in_one_are_refused(text: str) -> None:
    assert refused(text).notice.id == "HW105"


@pytest.mark.parametrize(("separator", "groups_said"), [(",", 1), (";", 1000)])
def test_a_thousand_events_are_too_many(separator: str, groups_said: int) -> None:
    error = refused(separator.join(f"r{number:x}" for number in range(1, 1001)))
    assert error.notice.id == "HW105"
    assert f"1000 events in {groups_said} groups, where 16 in 8 are the most" in error.notice.message
    assert len(error.notice.message) < 200


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("cyles", "near: cycles"),
        ("llc-load-miss", "near: LLC-load-misses"),
        ("instrutions:u", "near: instructions"),
        ("tlb", "near: dTLB-loads, dTLB-load-misses, dTLB-stores"),
        ("faults-page", "page-faults"),
        ("nonsense", "often counted: cycles, instructions, LLC-load-misses, page-faults"),
        ("$$$", "event is called '$$$'; often counted: cycles"),
        ("\x1b[31m", "[31m'; often counted: cycles"),
    ],
)
def test_an_unknown_event_is_told_with_near_names(wrong: str, near: str) -> None:
    error = refused(wrong)
    assert error.notice.id == "HW103"
    assert near in error.notice.message
    assert "\x1b" not in error.notice.message


def seen(first: int, second: int, running_ns: int = 1000, errno: int = 0) -> dict[str, int]:
    return {"errno": errno, "first": first, "second": second, "enabled_ns": 1000, "running_ns": running_ns}


def test_an_event_that_reads_zero_is_absent_and_not_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    readings = {"cycles": seen(10, 11), "instructions": seen(0, 0), "r99": seen(1, 1000), "branches": seen(0, 0, 0)}

    def tried(asked: list[tuple[Event, ...]]) -> list[list[dict[str, int]]]:
        return [[readings[each.name] for each in group] for group in asked]

    monkeypatch.setattr(usable, "_tried", tried)
    found = usable.usable(groups.parse("cycles,instructions;r99;branches").groups, is_default=False)
    assert [[each.name for each in group] for group in found.groups] == [["cycles"]]
    reasons = {each.event: each.reason for each in found.absent}
    assert reasons["instructions"] == "it opens, and reads zero in a loop that makes it count"
    assert reasons["r99"] == "two readings of the same loop differ: 1 and 1000"
    assert reasons["branches"].startswith("it never got a counter")
    assert found.step == "software clocks"


def test_a_group_beyond_the_counters_is_refused_by_name_and_a_default_one_is_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def tried(asked: list[tuple[Event, ...]]) -> list[list[dict[str, int]]]:
        return [[seen(5, 5, 1000 if len(group) <= 2 else 0) for _ in group] for group in asked]

    monkeypatch.setattr(usable, "_tried", tried)
    asked = groups.parse("cycles,instructions,branches").groups
    with pytest.raises(HeadwayError) as found:
        usable.usable(asked, is_default=False)
    assert found.value.notice.id == "HW104"
    cut = usable.usable(asked, is_default=True)
    assert [[each.name for each in group] for group in cut.groups] == [["cycles", "instructions"]]
    assert cut.step == "CPI"


def test_the_ladder_says_on_which_step_a_recording_stands() -> None:
    slots = [f"cpu/topdown-{each}/" for each in ("retiring", "bad-spec", "fe-bound", "be-bound")]
    assert step_of([slots, ["cycles", "instructions"]]) == "top-down"
    assert step_of([["cycles"], ["instructions"]]) == "software clocks"
    assert step_of([["instructions:u", "cycles:u"]]) == "CPI"
    assert step_of([]) == "none"


@pytest.mark.parametrize(
    ("text", "address"), [("mem:0100", 100), ("mem:0x0100", 256), ("mem:18446744073709551615", 2**64 - 1)]
)
def test_the_address_of_a_watched_one_is_decimal_with_zeros_in_front_too(text: str, address: int) -> None:
    assert event(text).config1 == address


@pytest.mark.parametrize(
    "text", ["mem:18446744073709551616", "mem:\u0664", "mem:1_0", "mem:-1", "r\u0661", "../type/x/", "./x/"]
)
def test_what_is_no_number_for_the_kernel_is_no_event(text: str) -> None:
    assert refused(text).notice.id == "HW103"


def test_a_text_that_is_too_long_is_refused_before_it_is_read() -> None:
    assert "characters" in refused("/," * 500_000).notice.message


@pytest.mark.parametrize(("switched_on", "is_named"), [("1", True), ("0", False), (None, False)])
def test_the_nmi_watchdog_is_named_where_it_has_a_counter(
    switched_on: str | None, is_named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usable, "_read", {"/proc/sys/kernel/nmi_watchdog": switched_on}.get)
    reason = usable._why_not_counting(event("cycles"), {"running_ns": 0, "first": 0, "second": 0})
    assert reason is not None
    assert reason.startswith("it never got a counter: others have them")
    assert ("NMI watchdog (kernel.nmi_watchdog is 1)" in reason) == is_named


@pytest.mark.parametrize(
    ("reason", "modifier", "said"),
    [
        (errno.EACCES, "", "perf_event_paranoid"),
        (errno.EPERM, "", "seccomp"),
        (errno.ENOENT, "", "hides them"),
        (errno.ENODEV, "", "hides them"),
        (errno.ENOSPC, "", "few addresses"),
        (errno.EINVAL, ":u", "leave out :u"),
        (errno.EINVAL, "", "Invalid argument"),
        (errno.EBUSY, "", "another tool"),
        (errno.EMFILE, "", "Too many open files"),
    ],
)
def test_each_refusal_of_the_kernel_has_its_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, reason: int, modifier: str, said: str
) -> None:
    monkeypatch.setattr(usable, "DEVICES", tmp_path)  # no PMU of the processor
    assert said in usable.why_refused(event(f"cycles{modifier}"), reason)


def test_an_event_that_this_processor_lacks_is_not_said_to_be_hidden(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "cpu").mkdir()
    monkeypatch.setattr(usable, "DEVICES", tmp_path)
    assert usable.why_refused(event("cycles"), errno.ENOENT) == "this processor or kernel has no such event"
    assert usable.why_refused(event("page-faults"), errno.ENOENT) == "this processor or kernel has no such event"


def units_of_cores(monkeypatch: pytest.MonkeyPatch, devices: Path, units: dict[str, str]) -> None:
    """Let a machine with CPUs 0 to 3 have these counting units of cores, each with its CPUs, and one of an interconnect."""
    for number, (unit, cpus) in enumerate({**units, "imc": ""}.items()):
        (devices / unit / "events").mkdir(parents=True)
        (devices / unit / "format").mkdir()
        (devices / unit / "type").write_text(str(10 + number))
        (devices / unit / "events" / "cycles").write_text("event=0x3c")
        (devices / unit / "format" / "event").write_text("config:0-7")
        if cpus:
            (devices / unit / "cpus").write_text(f"{cpus}\n")
    for module in (usable, events):
        monkeypatch.setattr(module, "DEVICES", devices)
    monkeypatch.setattr(usable, "online_cpus", lambda: [0, 1, 2, 3])
    monkeypatch.setattr(usable, "_tried", lambda groups: [[seen(90, 100)] * len(group) for group in groups])


@pytest.mark.parametrize(
    "units",
    [
        {"cpu_core": "0-1", "cpu_atom": "2-3"},
        {"armv8_cortex_a53": "0-1", "armv8_cortex_a72": "2-3"},
        {"armv8_cortex_a55": "0-1", "armv8_cortex_a78": "2", "armv8_cortex_x1": "3"},
        {"armv8_cortex_a53": "0,2"},
    ],
)
def test_on_a_processor_with_cores_of_several_kinds_its_events_are_absent_and_the_kernels_are_counted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, units: dict[str, str]
) -> None:
    """Each counts on one kind alone: what a thread runs on the other would be scaled, as if others had had a turn."""
    units_of_cores(monkeypatch, tmp_path, units)
    one = f"{next(iter(units))}/cycles/"
    found = usable.usable(groups.parse(f"cycles,task-clock;{one};imc/cycles/").groups, is_default=False)
    assert [[each.name for each in group] for group in found.groups] == [["task-clock"], ["imc/cycles/"]]
    assert {each.event: "cores of several kinds" in each.reason for each in found.absent} == {"cycles": True, one: True}


@pytest.mark.parametrize("cpus", ["0-3", "0-7", "nonsense"])
def test_a_unit_of_all_cores_counts_for_all_of_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cpus: str) -> None:
    """Of a file of sysfs that names no CPUs nothing is known."""
    units_of_cores(monkeypatch, tmp_path, {"armv8_pmuv3_0": cpus})
    found = usable.usable(groups.parse("cycles,armv8_pmuv3_0/cycles/").groups, is_default=False)
    assert [len(group) for group in found.groups] == [2]


def test_groups_that_are_not_counted_for_one_reason_are_all_absent_with_it() -> None:
    asked = groups.parse("page-faults,task-clock;page-faults").groups
    found = usable.Usable(asked, (usable.Absent("cycles", "none"),)).without_mode("agent")
    assert found.as_json() == {
        "step": "none",
        "groups": [],
        "absent": [
            {"event": "cycles", "reason": "none"},
            {"event": "page-faults", "reason": "the recording is made in mode agent"},
            {"event": "task-clock", "reason": "the recording is made in mode agent"},
        ],
    }


@pytest.mark.parametrize(
    ("limits", "is_raised", "said"),
    [
        ((1000, 1000), False, ""),
        ((1024, 500_000), True, ""),
        ((-1, -1), False, ""),
        ((1024, 1500), False, "ulimit -n allows 1024"),
    ],
)
def test_the_limit_of_descriptors_is_raised_as_far_as_counters_need_it_or_told(
    monkeypatch: pytest.MonkeyPatch, limits: tuple[int, int], is_raised: bool, said: str
) -> None:
    """16 counters on 100 CPUs are 1,600 descriptors, and on 10 CPUs 160."""
    cpus = 100 if limits[0] == 1024 else 10
    allowed: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: limits)
    monkeypatch.setattr(resource, "setrlimit", lambda _, limit: allowed.append(limit))
    assert said in missing_descriptors(16, cpus)
    assert bool(missing_descriptors(16, cpus)) == bool(said)
    assert all(1600 < soft < 2400 and hard == limits[1] for soft, hard in allowed)
    assert bool(allowed) == is_raised


def test_a_watched_address_is_refused_unless_its_breakpoint_may_end_the_program() -> None:
    """Hits of breakpoints end programs by SIGTRAP on virtual machines, whoever opens them."""
    error = refused("page-faults;mem:0x10/8:w,task-clock,mem:0x20")
    assert error.notice.id == "HW124"
    assert "SIGTRAP" in error.notice.message
    assert "mem:0x10/8:w, mem:0x20" in error.notice.message
    assert "--allow-breakpoints" in error.notice.remedy
    allowed = groups.parse("mem:0x10/8:w", allow_breakpoints=True)
    assert [each.is_breakpoint for group in allowed.groups for each in group] == [True]
    assert not any(event(name).is_breakpoint for name in ("page-faults", "r01b1", "cycles"))
