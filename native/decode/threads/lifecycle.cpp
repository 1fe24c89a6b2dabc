#include "decode/threads/lifecycle.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "decode/reading/record_reader.h"
#include "decode/threads/life_records.h"

namespace headway {
namespace {

// /proc gives start times in clock ticks, and a snapshot may find a thread whose fork is on record as well.
constexpr int64_t kSameStartNs = 25'000'000;

// Follows each tid through the records, so that every record finds the thread it means.
class Builder {
 public:
  void take(const LifeRecord& record) {
    switch (record.head.type) {
      case HW_FORK:
        return on_fork(record.fork);
      case HW_SNAPSHOT:
        return on_snapshot(record.snapshot);
      case HW_EXIT:
        return on_exit(record.exit);
      case HW_EXEC:
        return on_exec(record.exec);
      case HW_RENAME:
        if (ThreadLife* life = find(record.head.tid)) std::copy_n(record.rename.comm, HW_COMM_BYTES, life->comm);
        return;
      case HW_SCHEDSTAT:
        if (ThreadLife* life = find(record.head.tid)) {
          add(record.head.ts_ns, LifeEvent::Type::kTotals, *life, record.schedstat.exec_ns,
              record.schedstat.run_delay_ns);
        }
        return;
      case HW_LOSS:
        out_.losses.push_back({"lifecycle", -1, record.loss.first_ns, record.loss.last_ns, record.loss.events});
        return;
      default:
        return;
    }
  }

  Lifecycle finish() {
    std::vector<uint32_t> order(out_.lives.size()), place(out_.lives.size());
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(),
                     [&](uint32_t a, uint32_t b) { return out_.lives[a].start_ns < out_.lives[b].start_ns; });
    std::vector<ThreadLife> sorted;
    sorted.reserve(order.size());
    for (uint32_t i = 0; i < order.size(); ++i) {
      place[order[i]] = i;
      sorted.push_back(out_.lives[order[i]]);
    }
    out_.lives = std::move(sorted);
    for (LifeEvent& event : out_.events) event.thread = place[event.thread];
    std::stable_sort(out_.events.begin(), out_.events.end(),
                     [](const LifeEvent& a, const LifeEvent& b) { return a.ts_ns < b.ts_ns; });
    return std::move(out_);
  }

 private:
  ThreadLife* find(uint32_t tid) {
    const auto found = living_.find(tid);
    if (found == living_.end()) {
      ++out_.unmatched;
      return nullptr;
    }
    return &out_.lives[found->second];
  }

  void add(int64_t ts_ns, LifeEvent::Type type, const ThreadLife& life, uint64_t exec_ns = 0, uint64_t run_delay_ns = 0,
           uint32_t old_tid = 0) {
    const auto thread = static_cast<uint32_t>(&life - out_.lives.data());
    out_.events.push_back({ts_ns, type, thread, life.tid, old_tid, exec_ns, run_delay_ns});
  }

  ThreadLife& begin(uint32_t tid, uint32_t pid, int64_t start_ns, int64_t birth_ns) {
    const auto before = last_end_.find(tid);
    if (before != last_end_.end()) birth_ns = std::max(birth_ns, before->second + 1);
    living_[tid] = static_cast<uint32_t>(out_.lives.size());
    ThreadLife& life = out_.lives.emplace_back();
    life.tid = tid;
    life.pid = pid;
    life.start_ns = start_ns;
    life.birth_ns = birth_ns;
    add(birth_ns, LifeEvent::Type::kBirth, life);
    return life;
  }

  void on_fork(const hw_fork& fork) {
    if (!is_id(fork.pid) || !is_id(fork.ns_tid) || !is_id(fork.parent_tid) || !is_id(fork.parent_pid)) return;
    const auto known = living_.find(fork.head.tid);
    if (known != living_.end()) {
      const ThreadLife& life = out_.lives[known->second];
      if (life.from_snapshot &&
          std::llabs(life.start_ns - std::clamp<int64_t>(fork.start_ns, 0, fork.head.ts_ns)) < kSameStartNs)
        return;
    }
    ThreadLife& life =
        begin(fork.head.tid, fork.pid, std::clamp<int64_t>(fork.start_ns, 0, fork.head.ts_ns), fork.head.ts_ns);
    life.ns_tid = fork.ns_tid != 0 ? fork.ns_tid : fork.head.tid;
    life.parent_tid = fork.parent_tid;
    life.parent_pid = fork.parent_pid;
    std::copy_n(fork.comm, HW_COMM_BYTES, life.comm);
  }

  void on_snapshot(const hw_snapshot& snapshot) {
    if (!is_id(snapshot.pid) || !is_id(snapshot.ns_tid) || !is_id(snapshot.parent_pid)) return;
    if (living_.contains(snapshot.head.tid)) return;  // its birth is on record, and so is what it does
    const int64_t start_ns = std::clamp<int64_t>(snapshot.start_ns, 0, snapshot.head.ts_ns);
    ThreadLife& life = begin(snapshot.head.tid, snapshot.pid, start_ns, start_ns);
    life.ns_tid = snapshot.ns_tid != 0 ? snapshot.ns_tid : snapshot.head.tid;
    life.parent_pid = snapshot.parent_pid;
    life.from_snapshot = true;
    life.snapshot_state = snapshot.state;
    life.snapshot_exec_ns = static_cast<int64_t>(snapshot.exec_ns);
    std::copy_n(snapshot.comm, HW_COMM_BYTES, life.comm);
    add(snapshot.head.ts_ns, LifeEvent::Type::kState, life, snapshot.exec_ns);
  }

  void on_exit(const hw_exit& exit) {
    ThreadLife* life = find(exit.head.tid);
    if (life == nullptr) return;
    life->end_ns = exit.head.ts_ns;
    life->exit_code = exit.exit_code;
    if (exit.exec_ns != 0) life->exit_exec_ns = static_cast<int64_t>(exit.exec_ns);
    add(exit.head.ts_ns, LifeEvent::Type::kExit, *life, exit.exec_ns);
    last_end_[exit.head.tid] = exit.head.ts_ns;
    living_.erase(exit.head.tid);
  }

  void on_exec(const hw_exec& exec) {
    const uint32_t old_tid = exec.old_tid != 0 ? exec.old_tid : exec.head.tid;
    ThreadLife* life = find(old_tid);
    if (life == nullptr) return;
    living_.erase(old_tid);
    life->tid = exec.head.tid;  // its leader is gone by now, and with it the other meaning of this number
    if (life->first_exec_at_ns < 0) life->first_exec_at_ns = exec.head.ts_ns;
    std::copy_n(exec.comm, HW_COMM_BYTES, life->comm);
    living_[exec.head.tid] = static_cast<uint32_t>(life - out_.lives.data());
    add(exec.head.ts_ns, LifeEvent::Type::kExec, *life, 0, 0, old_tid);
  }

  Lifecycle out_;
  std::unordered_map<uint32_t, uint32_t> living_;  // tid to index
  std::unordered_map<uint32_t, int64_t> last_end_;
};

}  // namespace

Lifecycle read_lifecycle(const std::string& spool_dir, size_t most_lives) {
  LifeRecords records = read_life_records(spool_dir + "/lifecycle.spool", most_lives);
  Builder builder;
  for (const LifeRecord& record : records.in_order) builder.take(record);
  std::vector<LifeRecord>().swap(records.in_order);
  Lifecycle lifecycle = builder.finish();
  lifecycle.problem = records.problem;
  lifecycle.left_out = records.left_out;
  if (records.left_out.births > 0) {
    lifecycle.losses.push_back(
        {"births", -1, records.left_out.first_ns, records.left_out.last_ns, records.left_out.births});
  }
  return lifecycle;
}

}  // namespace headway
