#include "decode/threads/life_records.h"

#include <sys/stat.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "decode/reading/record_reader.h"

namespace headway {
namespace {

constexpr int64_t kLatest = int64_t{1} << 61;  // beyond, a time is damage, and sums of times might overflow

// Whose descendant each living thread is: of a process that ran when the recording began, or of that which it was started as.
class Ancestors {
 public:
  // Whether a thread is in a snapshot whose birth came first: it began meanwhile.
  bool is_known(const LifeRecord& record) const {
    return record.head.type == HW_SNAPSHOT && of_.contains(record.head.tid);
  }
  // The ancestor of a thread that is born, from now on known by its number.
  uint32_t born(const LifeRecord& record) {
    if (record.head.type == HW_SNAPSHOT) return of_.try_emplace(record.head.tid, record.snapshot.pid).first->second;
    auto parent = of_.find(record.fork.parent_tid);
    if (parent == of_.end()) parent = of_.find(record.fork.parent_pid);
    const uint32_t ancestor = parent != of_.end() ? parent->second : 0;
    return of_[record.head.tid] = ancestor;
  }
  void exited(uint32_t tid) { of_.erase(tid); }

 private:
  std::unordered_map<uint32_t, uint32_t> of_;
};

// Copies a record when its time and its thread may be right, and it is long enough.
bool read_any(const hw_record* record, LifeRecord* out) {
  if (record->ts_ns < 0 || record->ts_ns > kLatest || !is_id(record->tid)) return false;
  switch (record->type) {
    case HW_FORK:
      return read_as(record, &out->fork);
    case HW_EXIT:
      return read_as(record, &out->exit);
    case HW_RENAME:
      return read_as(record, &out->rename);
    case HW_EXEC:
      return read_as(record, &out->exec);
    case HW_SNAPSHOT:
      return read_as(record, &out->snapshot);
    case HW_SCHEDSTAT:
      return read_as(record, &out->schedstat);
    case HW_LOSS:
      return read_as(record, &out->loss);
    default:
      return false;  // of a newer writer
  }
}

bool is_birth(const LifeRecord& record) { return record.head.type == HW_FORK || record.head.type == HW_SNAPSHOT; }

using Shares = std::unordered_map<uint32_t, size_t>;  // how many threads the descendants of an ancestor may be

// Gives everybody what they need or, where that is more than there is, as much as everybody else who does not get it all.
Shares fair_shares(const Shares& needed, size_t room) {
  std::vector<std::pair<size_t, uint32_t>> by_need;
  for (const auto& [ancestor, births] : needed) by_need.emplace_back(births, ancestor);
  std::ranges::sort(by_need);
  Shares shares;
  size_t others = by_need.size();
  for (const auto& [births, ancestor] : by_need) {
    const size_t share = std::min(births, room / others--);
    shares[ancestor] = share;
    room -= share;
  }
  return shares;
}

// Whether a file of this size may hold more births than that.
bool may_hold_more(const std::string& path, size_t most_lives) {
  constexpr size_t kLeastBytes = std::min(sizeof(hw_fork), sizeof(hw_snapshot));
  struct stat status {};
  return stat(path.c_str(), &status) != 0 || static_cast<size_t>(status.st_size) / kLeastBytes > most_lives;
}

// Nothing where all fit.
Shares shares_of(const std::string& path, size_t most_lives) {
  if (!may_hold_more(path, most_lives)) return {};  // as a rule: then the file is read once
  RecordReader reader(path);
  Ancestors ancestors;
  Shares needed;
  size_t births = 0;
  while (const hw_record* record = reader.next()) {
    LifeRecord copy{};
    if (!read_any(record, &copy)) continue;
    if (is_birth(copy)) {
      if (ancestors.is_known(copy)) continue;
      ++births;
      ++needed[ancestors.born(copy)];
    } else if (copy.head.type == HW_EXIT) {
      ancestors.exited(copy.head.tid);
    }
  }
  return births <= most_lives ? Shares{} : fair_shares(needed, most_lives);
}

class Loader {
 public:
  explicit Loader(Shares shares) : shares_(std::move(shares)) {}

  void take(const LifeRecord& record) {
    last_ns_ = std::max<int64_t>(last_ns_, record.head.ts_ns);
    if (is_birth(record)) return on_birth(record);
    switch (record.head.type) {
      case HW_EXIT:
        return on_exit(record);
      case HW_RENAME:
        return keep_last(record, &Living::rename);
      case HW_SCHEDSTAT:
        return keep_first_and_last(record, &Living::first_totals, &Living::totals);
      case HW_EXEC:
        return on_exec(record);
      default:
        records_.push_back(record);
    }
  }

  LifeRecords finish() {
    if (!living_left_out_.empty()) left_out_.last_ns = last_ns_;
    std::stable_sort(records_.begin(), records_.end(),
                     [](const LifeRecord& a, const LifeRecord& b) { return a.head.ts_ns < b.head.ts_ns; });
    return {std::move(records_), left_out_, {}};
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  struct Living {  // places in records_
    size_t rename = kNone;
    size_t first_totals = kNone;
    size_t totals = kNone;
    size_t first_exec = kNone;
    size_t exec = kNone;
  };

  void on_birth(const LifeRecord& record) {
    const uint32_t tid = record.head.tid;
    const bool is_known = record.head.type == HW_SNAPSHOT && living_.contains(tid);  // its birth came first
    if (!is_known && !has_room(record)) return leave_out(record);
    living_left_out_.erase(tid);
    if (!is_known) living_[tid] = {};
    records_.push_back(record);
  }

  bool has_room(const LifeRecord& record) {
    if (shares_.empty()) return true;
    size_t& left = shares_[ancestors_.born(record)];
    if (left == 0) return false;
    --left;
    return true;
  }

  void leave_out(const LifeRecord& record) {
    const uint32_t tid = record.head.tid;
    ++left_out_.births;
    left_out_.first_ns = std::min<int64_t>(left_out_.first_ns, record.head.ts_ns);
    left_out_.last_ns = std::max<int64_t>(left_out_.last_ns, record.head.ts_ns);
    living_left_out_.insert(tid);
    if (living_.erase(tid) == 0) return;
    LifeRecord end{};  // of the thread that had this number: it was lost
    end.exit.head = {record.head.ts_ns, HW_EXIT, sizeof(hw_exit), tid};
    records_.push_back(end);
  }

  void on_exit(const LifeRecord& record) {
    ancestors_.exited(record.head.tid);
    if (living_left_out_.erase(record.head.tid) > 0) {
      left_out_.last_ns = std::max<int64_t>(left_out_.last_ns, record.head.ts_ns);
      return;
    }
    living_.erase(record.head.tid);
    records_.push_back(record);
  }

  // A thread that takes over its process's number ends the thread that had it: there are as many as there are births.
  void on_exec(const LifeRecord& record) {
    const uint32_t tid = record.head.tid, old_tid = record.exec.old_tid != 0 ? record.exec.old_tid : tid;
    if (old_tid == tid) return keep_first_and_last(record, &Living::first_exec, &Living::exec);
    if (living_left_out_.erase(old_tid) > 0) {
      living_.erase(tid);
      living_left_out_.insert(tid);
      return;
    }
    living_.erase(old_tid);
    living_[tid] = {};
    records_.push_back(record);
  }

  void keep_first_and_last(const LifeRecord& record, size_t Living::*first, size_t Living::*last) {
    if (living_left_out_.contains(record.head.tid)) return;
    size_t& place = living_[record.head.tid].*first;
    if (place != kNone) return keep_last(record, last);
    place = records_.size();
    records_.push_back(record);
  }

  // In place of the one before it of the same thread.
  void keep_last(const LifeRecord& record, size_t Living::*last) {
    if (living_left_out_.contains(record.head.tid)) return;
    size_t& place = living_[record.head.tid].*last;
    if (place == kNone) {
      place = records_.size();
      records_.push_back(record);
    } else if (records_[place].head.ts_ns <= record.head.ts_ns) {
      records_[place] = record;
    }
  }

  Shares shares_;
  Ancestors ancestors_;
  std::vector<LifeRecord> records_;
  std::unordered_map<uint32_t, Living> living_;
  std::unordered_set<uint32_t> living_left_out_;
  LeftOutThreads left_out_;
  int64_t last_ns_ = 0;
};

}  // namespace

LifeRecords read_life_records(const std::string& path, size_t most_lives) {
  Loader loader(shares_of(path, most_lives));
  RecordReader reader(path);
  while (const hw_record* record = reader.next()) {
    LifeRecord copy{};
    if (read_any(record, &copy)) loader.take(copy);
  }
  LifeRecords records = loader.finish();
  records.problem = reader.problem();
  return records;
}

}  // namespace headway
