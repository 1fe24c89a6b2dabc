#include "decode/lock_tables/lock_blockers.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace headway {
namespace {

constexpr int64_t kLatest = int64_t{1} << 61;

int64_t sum_of(uint64_t value) { return static_cast<int64_t>(std::min<uint64_t>(value, kLatest)); }

int64_t time_of(int64_t ns) { return std::clamp<int64_t>(ns, 0, kLatest); }

void add_to(int64_t* sum, int64_t value) { *sum = std::min(*sum + value, kLatest); }

void take_from(int64_t* sum, int64_t value) { *sum = std::max<int64_t>(0, *sum - value); }

// How much of a block lies after all that began before it; `busy_until`: where these end.
int64_t add_busy(int64_t* busy_until, int64_t start_ns, int64_t end_ns) {
  const int64_t added = std::max<int64_t>(0, end_ns - std::max(start_ns, *busy_until));
  *busy_until = std::max(*busy_until, end_ns);
  return added;
}

}  // namespace

void LockBlockers::number(const std::vector<LockFile>& files, const std::vector<JvmThreads>& jvms,
                          const std::vector<uint8_t>& own) {
  rows_.clear();
  own_id_.assign(files.size(), {});
  together_.assign(files.size(), {});
  for (uint32_t i = 0; i < files.size(); ++i) number_file(i, files[i], jvms[i], own);
  std::stable_sort(rows_.begin(), rows_.end(), [](const BlockerRow& a, const BlockerRow& b) {
    return std::tie(a.first_ns, a.file, a.id) < std::tie(b.first_ns, b.file, b.id);
  });
  by_file_.assign(files.size(), {});
  for (size_t i = 0; i < files.size(); ++i) together_[i].assign(own_id_[i].size(), -1);
  for (size_t i = 0; i < rows_.size(); ++i) {
    const BlockerRow& row = rows_[i];
    if (row.together >= 0) {
      together_[row.file][static_cast<size_t>(row.together)] = static_cast<int32_t>(i);
    } else {
      by_file_[row.file].at(row.id) = static_cast<int32_t>(i) + 1;
    }
  }
  for (uint32_t file = 0; file < files.size(); ++file) {
    for (size_t place = 0; place < own_id_[file].size(); ++place) {
      const int32_t row = own_id_[file][place] == 0 ? -1 : row_of(file, own_id_[file][place]);
      if (row < 0) continue;
      together_[file][place] = row;
      rows_[static_cast<size_t>(row)].is_mixed = true;
    }
  }
  for (BlockerRow& row : rows_) {
    if (row.together >= 0) continue;
    const uint32_t* into = files[row.file].records.folded_into.find(row.id);
    if (!row.has_slot && into != nullptr && *into != 0) row.folded_into = row_of(row.file, *into);
  }
  seen_.assign(rows_.size(), {});
  open_.clear();
  moved_.clear();
  rest_busy_until_.clear();
  find_monitors();
}

void LockBlockers::number_file(uint32_t index, const LockFile& file, const JvmThreads& jvm,
                               const std::vector<uint8_t>& own) {
  ById<uint32_t> slots;  // place + 1 by id
  std::vector<uint32_t> ids;
  for (size_t i = 0; i < file.table.slots.size(); ++i) {
    uint32_t& place = slots.at(file.table.slots[i].blocker_id);
    if (place != 0) continue;  // the first one counts
    const bool is_empty = file.table.slots[i].blocker_id == 0 && file.table.slots[i].times_parked == 0;
    if (is_empty) continue;  // nobody parked without a blocker
    place = static_cast<uint32_t>(i) + 1;
    ids.push_back(file.table.slots[i].blocker_id);
  }
  file.records.blockers.for_each([&](uint32_t id, const BlockerFacts& facts) {
    if (facts.kind != 0) ids.push_back(id);
  });
  file.records.users.for_each([&](uint32_t id, const BlockerUsers& users) {
    if (users.kind != 0) ids.push_back(id);
  });
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  const size_t first_row = rows_.size();
  for (const uint32_t id : ids) {
    const uint32_t* place = slots.find(id);
    BlockerRow row;
    row.file = index;
    row.id = id;
    fill(&row, file, place == nullptr || *place == 0 ? nullptr : &file.table.slots[*place - 1]);
    if (!is_own(row, file.records.users.find(id), jvm, own)) rows_.push_back(row);
  }
  number_together(index, file, jvm, own, first_row);
}

// Each short-lived object is a row as if it had a blocker. One that was waited for more often has one from its third
// wait on: then its first two belong to that.
void LockBlockers::number_together(uint32_t index, const LockFile& file, const JvmThreads& jvm,
                                   const std::vector<uint8_t>& own, size_t first_row) {
  const std::vector<TogetherFacts>& together = file.records.together;
  own_id_[index].assign(together.size(), 0);
  if (together.empty()) return;
  std::unordered_map<uint32_t, uint32_t> class_of;  // by blocker that stands for a class
  std::unordered_map<uint64_t, size_t> row_by;      // by class and identity hash
  for (size_t i = first_row; i < rows_.size(); ++i) {
    const BlockerRow& row = rows_[i];
    if (row.kind != HW_BK_PARK || row.id == 0) continue;
    if (row.identity_hash == 0) {
      class_of.emplace(row.id, row.class_name);
    } else {
      row_by.emplace(uint64_t{row.class_name} << 32 | row.identity_hash, i);
    }
  }
  for (size_t place = 0; place < together.size(); ++place) {
    const TogetherFacts& facts = together[place];
    const auto named = class_of.find(facts.rest_id);
    BlockerRow row;
    row.class_name = named == class_of.end() ? texts_.add("unknown") : named->second;
    const auto known = row_by.find(uint64_t{row.class_name} << 32 | facts.identity_hash);
    if (known != row_by.end()) {
      BlockerRow& its = rows_[known->second];
      own_id_[index][place] = its.id;
      if (facts.first_ns >= its.first_ns) continue;
      its.first_java_id = facts.first_java_id;
      its.first_thread = 0;  // as that thread is called
      if (facts.first_stack_id != 0) its.first_stack_id = facts.first_stack_id;
      its.first_ns = facts.first_ns;
      continue;
    }
    row.file = index;
    row.id = facts.rest_id;
    row.kind = facts.users.kind;
    row.identity_hash = facts.identity_hash;
    row.first_java_id = facts.first_java_id;
    row.first_stack_id = facts.first_stack_id;
    row.first_ns = facts.first_ns;
    row.last_ns = facts.first_ns;
    row.is_once = facts.blocks == 1;
    row.together = static_cast<int64_t>(place);
    if (!is_own(row, &facts.users, jvm, own)) rows_.push_back(row);
  }
}

bool LockBlockers::is_own(const BlockerRow& row, const BlockerUsers* users, const JvmThreads& jvm,
                          const std::vector<uint8_t>& own) {
  const auto is_ours = [&](uint32_t java_id) {
    const int32_t thread = jvm.of_java(java_id);
    return thread >= 0 && static_cast<size_t>(thread) < own.size() && own[static_cast<size_t>(thread)] != 0;
  };
  if (users != nullptr && users->kind != 0) return !users->several && is_ours(users->java_id);
  return is_ours(row.first_java_id);
}

void LockBlockers::fill(BlockerRow* row, const LockFile& file, const hw_lock_slot* slot) {
  if (const BlockerUsers* users = file.records.users.find(row->id)) row->kind = users->kind;
  if (slot != nullptr) {
    row->has_slot = true;
    row->kind = slot->kind;
    row->identity_hash = slot->identity_hash;
    row->class_name = texts_.add(row->id == 0 ? std::string_view() : file.table.class_of(*slot));
    row->first_java_id = slot->first_java_id;
    row->first_stack_id = slot->first_stack_id;
    row->first_ns = time_of(slot->first_ns);
    row->last_ns = std::max(row->first_ns, time_of(slot->last_ns));
    row->times_parked = sum_of(slot->times_parked);
    row->times_measured = sum_of(slot->times_measured);
    row->thread_time_ns = sum_of(slot->thread_time_ns);
    row->real_time_ns = sum_of(slot->real_time_ns);
    row->holds = sum_of(slot->holds);
    row->hold_ns = sum_of(slot->hold_ns);
    row->parked_now = std::min<uint32_t>(slot->parked_now, INT32_MAX);
    row->peak_parked = std::min<uint32_t>(slot->peak_parked, INT32_MAX);
  }
  const BlockerFacts* facts = file.records.blockers.find(row->id);
  if (facts != nullptr && facts->kind != 0) {
    row->kind = facts->kind;
    row->identity_hash = facts->identity_hash;
    row->class_name = texts_.add(file.records.texts[facts->class_name]);
    row->first_thread = texts_.add(file.records.texts[facts->first_thread]);
    row->first_java_id = facts->first_java_id;
    row->first_stack_id = facts->first_stack_id;
    row->first_ns = std::min(row->first_ns, facts->first_ns);
  } else if (slot == nullptr && row->id != 0) {
    row->class_name = texts_.add("unknown");  // its record was lost
  }
  const int64_t* died = file.records.died_ns.find(row->id);
  if (died != nullptr && *died != 0) {
    row->died_ns = *died;
  } else if (slot != nullptr && slot->is_dead != 0) {  // its record was capped: it was dead when the agent last looked
    row->died_ns = std::max(row->last_ns, time_of(file.table.header.updated_ns));
  }
  row->last_ns = std::max(row->last_ns, row->first_ns == INT64_MAX ? 0 : row->first_ns);
}

// Who waits on an object has let its monitor go, and must get it back: both blockers are of one object.
void LockBlockers::find_monitors() {
  using Object = std::tuple<uint32_t, uint32_t, uint32_t>;  // file, hash, class
  constexpr int32_t kSeveral = -2;
  monitor_of_.assign(rows_.size(), -1);
  std::map<Object, int32_t> monitors;
  for (size_t i = 0; i < rows_.size(); ++i) {
    const BlockerRow& row = rows_[i];
    if (row.kind != HW_BK_MONITOR) continue;
    monitor_of_[i] = static_cast<int32_t>(i);
    if (row.identity_hash == 0) continue;
    const auto [at, is_new] =
        monitors.try_emplace({row.file, row.identity_hash, row.class_name}, static_cast<int32_t>(i));
    if (!is_new) at->second = kSeveral;
  }
  for (size_t i = 0; i < rows_.size(); ++i) {
    const BlockerRow& row = rows_[i];
    if (row.kind != HW_BK_WAIT || row.identity_hash == 0) continue;
    const auto found = monitors.find({row.file, row.identity_hash, row.class_name});
    if (found != monitors.end() && found->second != kSeveral) monitor_of_[i] = found->second;
  }
}

// The real time of a rest is that in which any of its objects was waited for: what only single blocks tell of is taken
// from it.
void LockBlockers::take_from_rest(int32_t rest, int64_t start_ns, int64_t dur_ns, bool is_open, int64_t waits) {
  BlockerRow& sums = rows_[static_cast<size_t>(rest)];
  if (!sums.has_slot) return;
  int64_t& busy_until = rest_busy_until_[rest];
  const int64_t end_ns = start_ns + dur_ns;
  take_from(&sums.times_parked, waits);
  take_from(&sums.times_measured, waits);
  take_from(&sums.thread_time_ns, dur_ns);
  take_from(&sums.real_time_ns, add_busy(&busy_until, start_ns, end_ns));
  if (is_open && sums.parked_now > 0) --sums.parked_now;
}

void LockBlockers::add_block(int32_t row, int64_t start_ns, int64_t dur_ns, bool is_open, bool is_more, int32_t rest) {
  BlockerRow& blocker = rows_[static_cast<size_t>(row)];
  const int64_t waits = is_more ? 0 : 1;
  if (is_open) ++seen_[static_cast<size_t>(row)].open;
  if (rest >= 0) take_from_rest(rest, start_ns, dur_ns, is_open, waits);
  if (blocker.has_slot && !blocker.is_mixed) return;
  const int64_t end_ns = start_ns + dur_ns;
  int64_t real_time_ns = dur_ns;
  uint32_t parked = 1;
  if (!blocker.is_once) {
    Open& open = open_[row];
    while (!open.ends.empty() && open.ends.top() <= start_ns) open.ends.pop();
    open.ends.push(end_ns);
    parked = static_cast<uint32_t>(open.ends.size());
    real_time_ns = add_busy(&open.busy_until, start_ns, end_ns);
    if (blocker.is_mixed) {
      Moved& moved = moved_[row];
      moved.real_time_ns += real_time_ns;
      if (rest < 0) moved.real_time_ns -= add_busy(&open.own_busy_until, start_ns, end_ns);
      if (rest >= 0) moved.times += waits;
      if (rest >= 0) add_to(&moved.thread_time_ns, dur_ns);
    }
  }
  blocker.peak_parked = std::max(blocker.peak_parked, parked);
  blocker.first_ns = std::min(blocker.first_ns, start_ns);
  blocker.last_ns = std::max(blocker.last_ns, end_ns);
  if (blocker.has_slot) return;  // its sums and what was moved to it are put together in the end
  add_to(&blocker.times_parked, waits);
  add_to(&blocker.times_measured, waits);
  add_to(&blocker.thread_time_ns, dur_ns);
  add_to(&blocker.real_time_ns, real_time_ns);
}

void LockBlockers::add_hold(int32_t row, int64_t dur_ns) {
  BlockerRow& blocker = rows_[static_cast<size_t>(row)];
  if (blocker.has_slot) return;
  add_to(&blocker.holds, 1);
  add_to(&blocker.hold_ns, dur_ns);
}

void LockBlockers::add_waking_hold(int32_t row, int64_t dur_ns) {
  Seen& seen = seen_[static_cast<size_t>(row)];
  add_to(&seen.waking_holds, 1);
  add_to(&seen.waking_hold_ns, dur_ns);
}

// What was folded into a rest is what the object's own slot told of.
void LockBlockers::take_folded() {
  for (size_t i = 0; i < rows_.size(); ++i) {
    const BlockerRow& row = rows_[i];
    if (row.folded_into < 0) continue;
    BlockerRow& rest = rows_[static_cast<size_t>(row.folded_into)];
    if (!rest.has_slot) continue;
    const auto moved = moved_.find(static_cast<int32_t>(i));
    const Moved other = moved == moved_.end() ? Moved{} : moved->second;
    take_from(&rest.times_parked, row.times_parked - other.times);
    take_from(&rest.times_measured, row.times_measured - other.times);
    take_from(&rest.thread_time_ns, row.thread_time_ns - other.thread_time_ns);
    take_from(&rest.real_time_ns, row.real_time_ns - other.real_time_ns);
    take_from(&rest.holds, row.holds);
    take_from(&rest.hold_ns, row.hold_ns);
  }
}

void LockBlockers::finish_row(size_t index, const JvmThreads& jvm) {
  BlockerRow& row = rows_[index];
  const Seen& seen = seen_[index];
  const bool is_emptied = row.has_slot && row.identity_hash == 0 && row.times_parked == 0;
  if (is_emptied && row.id != 0) {  // each object of the class has a row; clocks were cut off here and there
    row.thread_time_ns = row.real_time_ns = 0;
    row.parked_now = row.peak_parked = 0;
  }
  // A JVM that was killed left its table as it was at the last event.
  const int64_t since = std::max<int64_t>(0, jvm.close_ns() - row.last_ns);
  if (row.has_slot && row.parked_now > 0 && since > 0) {
    add_to(&row.thread_time_ns, static_cast<int64_t>(std::min<double>(double(row.parked_now) * double(since), 1e18)));
    add_to(&row.real_time_ns, since);
  }
  if (const auto moved = moved_.find(static_cast<int32_t>(index)); row.has_slot && moved != moved_.end()) {
    add_to(&row.times_parked, moved->second.times);
    add_to(&row.times_measured, moved->second.times);
    add_to(&row.thread_time_ns, moved->second.thread_time_ns);
    add_to(&row.real_time_ns, moved->second.real_time_ns);
  }
  row.parked_now = std::max(row.parked_now, seen.open);
  row.peak_parked = std::max(row.peak_parked, row.parked_now);
  add_to(&row.holds, seen.waking_holds);
  add_to(&row.hold_ns, seen.waking_hold_ns);
  if (row.first_ns == INT64_MAX) row.first_ns = row.last_ns;  // all its blocks lie outside the window
}

// Parks of a thread that is still queued are one wait (HW_BL_AGAIN), counted with the block that began it. That one may lie
// before the window, or its record may be damaged: there were as many waits as there were threads at once, at least.
void LockBlockers::count_begun_before() {
  for (BlockerRow& row : rows_) {
    if (row.has_slot) continue;
    row.times_parked = std::max<int64_t>(row.times_parked, row.peak_parked);
    row.times_measured = std::max<int64_t>(row.times_measured, row.peak_parked);
  }
}

void LockBlockers::finish(const std::vector<JvmThreads>& jvms) {
  count_begun_before();
  take_folded();
  for (size_t i = 0; i < rows_.size(); ++i) finish_row(i, jvms[rows_[i].file]);
}

}  // namespace headway
