// The tables of locks for Python, as columns, for record/finalise/locks/lock_tables.py; names and stacks for
// record/live/live_locks.py.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings.h"
#include "columns.h"
#include "decode/lock_records/live_records.h"
#include "decode/lock_tables/lock_rows.h"

namespace nb = nanobind;

namespace headway {
namespace {

// One dictionary per agent's file: {path, table, problem, capped_ns, stacks, blocks, ...} of the table's header.
nb::list files(const Locks& locks) {
  nb::list out;
  for (const LockFile& file : locks.files()) {
    const hw_lock_header& header = file.table.header;
    nb::dict one;
    one["path"] = file.path;
    one["table"] = file.table.path;
    one["has_table"] = file.table.found;
    one["problem"] = file.table.problem;
    one["is_cut"] = file.table.is_cut;
    one["capped_ns"] = std::max(file.records.capped_ns, file.table.found ? header.capped_ns : 0);
    one["blocks"] = file.records.blocks.size();
    one["stacks"] = file.records.stacks.size();
    one["slots"] = file.table.slots.size();
    one["dropped"] = file.table.found ? header.dropped : 0;
    one["untimed_holds"] = file.table.found ? header.untimed_holds : 0;
    one["forgotten"] = file.table.found ? header.forgotten : 0;
    one["below_threshold"] = file.table.found ? header.below_threshold : 0;
    out.append(one);
  }
  return out;
}

template <typename T, typename U>
void same_length(const Input<T>& a, const Input<U>& b) {
  if (a.shape(0) != b.shape(0)) throw nb::value_error("columns of different length");
}

// One JVM's threads out of (pid, close_ns, tid, start_ns, thread_id, java_id, java_thread_id).
JvmThreads jvm_threads(const nb::tuple& entry) {
  const auto tid = nb::cast<Input<uint32_t>>(entry[2]);
  const auto start_ns = nb::cast<Input<int64_t>>(entry[3]);
  const auto thread_id = nb::cast<Input<int32_t>>(entry[4]);
  const auto java_id = nb::cast<Input<uint32_t>>(entry[5]);
  const auto java_thread_id = nb::cast<Input<int32_t>>(entry[6]);
  same_length(tid, start_ns);
  same_length(tid, thread_id);
  same_length(java_id, java_thread_id);
  std::vector<JvmThreads::Life> lives;
  for (size_t i = 0; i < tid.shape(0); ++i) lives.push_back({tid.data()[i], start_ns.data()[i], thread_id.data()[i]});
  std::vector<JvmThreads::Java> java;
  for (size_t i = 0; i < java_id.shape(0); ++i) java.push_back({java_id.data()[i], java_thread_id.data()[i]});
  return {nb::cast<int32_t>(entry[0]), nb::cast<int64_t>(entry[1]), std::move(lives), std::move(java)};
}

void begin(Locks& locks, const nb::list& jvms, Input<int64_t> java_of_thread, Input<uint8_t> own, int64_t start_ns) {
  std::vector<JvmThreads> threads;
  for (const nb::handle entry : jvms) threads.push_back(jvm_threads(nb::cast<nb::tuple>(entry)));
  if (threads.size() != locks.files().size()) throw nb::value_error("not one JVM per file");
  locks.begin(std::move(threads), vector_of(java_of_thread), vector_of(own), start_ns);
}

nb::object blocks_or_none(Locks& locks, size_t rows) {
  BlockColumns b;
  {
    nb::gil_scoped_release unlocked;
    if (!locks.next_blocks(rows, &b)) b = {};
  }
  if (b.size() == 0) return nb::none();
  nb::dict out;
  out["pid"] = array(std::move(b.pid));
  out["thread_id"] = array(std::move(b.thread_id));
  out["java_id"] = array(std::move(b.java_id));
  out["blocker_id"] = array(std::move(b.blocker_id));
  out["kind"] = array(std::move(b.kind));
  out["flags"] = array(std::move(b.flags));
  out["start_ns"] = array(std::move(b.start_ns));
  out["dur_ns"] = array(std::move(b.dur_ns));
  out["stack_id"] = array(std::move(b.stack_id));
  out["weight"] = array(std::move(b.weight));
  out["waker_thread_id"] = array(std::move(b.waker_thread_id));
  out["waker_java_id"] = array(std::move(b.waker_java_id));
  out["waker_stack_id"] = array(std::move(b.waker_stack_id));
  out["waking_ns"] = array(std::move(b.waking_ns));
  out["is_kernel_waking"] = array(std::move(b.is_kernel_waking));
  out["owner_thread_id"] = array(std::move(b.owner_thread_id));
  out["owner_java_id"] = array(std::move(b.owner_java_id));
  return out;
}

nb::object holds_or_none(Locks& locks, size_t rows) {
  HoldColumns h;
  {
    nb::gil_scoped_release unlocked;
    if (!locks.next_holds(rows, &h)) h = {};
  }
  if (h.size() == 0) return nb::none();
  nb::dict out;
  out["file"] = column(h.blocker_id, [&](int32_t blocker) { return locks.file_of_blocker(blocker); });
  out["blocker_id"] = array(std::move(h.blocker_id));
  out["thread_id"] = array(std::move(h.thread_id));
  out["java_id"] = array(std::move(h.java_id));
  out["start_ns"] = array(std::move(h.start_ns));
  out["dur_ns"] = array(std::move(h.dur_ns));
  out["by_waking"] = array(std::move(h.by_waking));
  return out;
}

nb::object stacks_or_none(Locks& locks, size_t rows) {
  StackColumns s;
  if (!locks.next_stacks(rows, &s)) return nb::none();
  nb::dict out;
  out["stack_id"] = array(std::move(s.stack_id));
  out["depth"] = array(std::move(s.depth));
  out["frame_id"] = array(std::move(s.frame_id));
  out["is_cut"] = array(std::move(s.is_cut));
  return out;
}

nb::dict standing(const Locks& locks) {
  StandingColumns s = locks.standing();
  nb::dict out;
  out["pid"] = array(std::move(s.pid));
  out["thread_id"] = array(std::move(s.thread_id));
  out["ns"] = array(std::move(s.ns));
  out["state"] = array(std::move(s.state));
  out["stack_id"] = array(std::move(s.stack_id));
  return out;
}

nb::list texts_of(const TextPool& pool) {
  nb::list out;
  for (const std::string& text : pool.texts()) out.append(bytes_of(text));
  return out;
}

nb::dict frames(const Locks& locks) {
  const std::vector<FrameRow>& rows = locks.frames();
  nb::dict out;
  out["texts"] = texts_of(locks.texts());
  out["class_name"] = column(rows, [](const FrameRow& f) { return f.class_name; });
  out["method"] = column(rows, [](const FrameRow& f) { return f.method; });
  out["line"] = column(rows, [](const FrameRow& f) { return f.line; });
  return out;
}

nb::dict blockers(Locks& locks) {
  const LockBlockers& blockers = locks.blockers();
  const std::vector<BlockerRow>& rows = blockers.rows();
  nb::dict out;
  out["texts"] = texts_of(blockers.texts());
  out["file"] = column(rows, [](const BlockerRow& b) { return b.file; });
  out["kind"] = column(rows, [](const BlockerRow& b) { return static_cast<uint8_t>(b.kind); });
  out["class_name"] = column(rows, [](const BlockerRow& b) { return b.class_name; });
  out["identity_hash"] =
      column(rows, [](const BlockerRow& b) { return static_cast<int32_t>(b.identity_hash & 0x7fffffff); });
  out["first_thread"] = column(rows, [](const BlockerRow& b) { return b.first_thread; });
  out["first_java_id"] = column(rows, [](const BlockerRow& b) { return b.first_java_id; });
  out["first_stack_id"] = column(rows, [&](const BlockerRow& b) { return locks.stack_of(b.file, b.first_stack_id); });
  out["first_ns"] = column(rows, [](const BlockerRow& b) { return b.first_ns; });
  out["last_ns"] = column(rows, [](const BlockerRow& b) { return b.last_ns; });
  out["died_ns"] = column(rows, [](const BlockerRow& b) { return b.died_ns; });
  out["times_parked"] = column(rows, [](const BlockerRow& b) { return b.times_parked; });
  out["times_measured"] = column(rows, [](const BlockerRow& b) { return b.times_measured; });
  out["parked_now"] = column(rows, [](const BlockerRow& b) { return b.parked_now; });
  out["peak_parked"] = column(rows, [](const BlockerRow& b) { return b.peak_parked; });
  out["thread_time_ns"] = column(rows, [](const BlockerRow& b) { return b.thread_time_ns; });
  out["real_time_ns"] = column(rows, [](const BlockerRow& b) { return b.real_time_ns; });
  out["holds"] = column(rows, [](const BlockerRow& b) { return b.holds; });
  out["hold_ns"] = column(rows, [](const BlockerRow& b) { return b.hold_ns; });
  return out;
}

bool read_live(LiveRecords& records, int fd, uint32_t pid) {
  nb::gil_scoped_release unlocked;
  return records.read(fd, pid);
}

nb::object live_thread(const LiveRecords& records, uint32_t blocker_id, uint32_t java_id) {
  std::string_view name;
  if (!records.first_thread(blocker_id, java_id, &name)) return nb::none();
  return nb::bytes(name.data(), name.size());
}

nb::bytes live_java_version(const LiveRecords& records) {
  const std::string_view version = records.java_version();
  return nb::bytes(version.data(), version.size());
}

nb::list live_frames(const LiveRecords& records, uint32_t stack_id) {
  nb::list out;
  for (const LiveRecords::Frame& frame : records.frames(stack_id)) {
    out.append(nb::make_tuple(nb::bytes(frame.class_name.data(), frame.class_name.size()),
                              nb::bytes(frame.method.data(), frame.method.size()), frame.line));
  }
  return out;
}

}  // namespace

void bind_locks(nb::module_& m) {
  nb::class_<LiveRecords>(
      m, "LiveRecords",
      "What an agent's file says of the rows of its live table; native/decode/lock_records/live_records.h.")
      .def(nb::init<>())
      .def("read", &read_live, nb::arg("fd"), nb::arg("pid"), "Read on; False: not the file of JVM `pid`.")
      .def("knows", &LiveRecords::knows, nb::arg("blocker_id"), nb::arg("stack_id"), "Whether both have been read.")
      .def("knows_stack", &LiveRecords::knows_stack, nb::arg("stack_id"), "Whether it was read, with its methods.")
      .def("java_version", &live_java_version, "The JVM's java.version as bytes, b'' while it is not known.")
      .def("first_thread", &live_thread, nb::arg("blocker_id"), nb::arg("java_id"), "The name as bytes, or None.")
      .def("frames", &live_frames, nb::arg("stack_id"), "(class, method, line), innermost first, names as bytes.");
  nb::class_<Locks>(
      m, "Locks", "The tables of locks of a spool; see native/decode/lock_tables/lock_rows.h. Made by Decoder.locks().")
      .def("files", &files, "What is known of each agent's records and table, in the order of Decoder.agents().")
      .def(
          "begin", &begin, nb::arg("jvms"), nb::arg("java_of_thread"), nb::arg("own"), nb::arg("start_ns"),
          "Say who the threads are. jvms: per file (pid, close_ns, tid, start_ns, thread_id, java_id, java_thread_id).")
      .def("next_blocks", &blocks_or_none, nb::arg("rows") = size_t{1} << 18, "About `rows` more blocks, or None.")
      .def("next_holds", &holds_or_none, nb::arg("rows") = size_t{1} << 18, "The same of holds; after the blocks.")
      .def("standing", &standing, "Every stack of a thread that stood still; after begin().")
      .def("next_stacks", &stacks_or_none, nb::arg("rows") = size_t{1} << 18, "The same of stacks' frames.")
      .def("frames", &frames, "Every frame, after all stacks: indices into texts, lines (-1 native, -2 unknown).")
      .def("blockers", &blockers, "Every blocker, after all blocks and holds.");
}

}  // namespace headway
