#include "agent/locks/lock_records.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "agent/core/clock.h"

namespace headway::agent {
namespace {

// Whether the wait is another thread's: a park that had begun before. Who enters or waits at a monitor tells of it
// itself, if only when that is over, and stands there still.
bool is_recorded_by_another(const LockRecords::Beginning& it) noexcept {
  return it.kind == HW_BK_PARK && (it.flags & HW_BL_ATTACHED) != 0;
}

// Of the file, in eighths: then single blocks and holds are no longer written, and later blockers neither. What is left
// is for the lives of threads and the JVM's phases.
constexpr uint64_t kEventsShare = 6;
constexpr uint64_t kBlockersShare = 7;

constexpr size_t kThreadNameBytes = 256;

// Keeps a call that comes on top of another one of the same thread (signal handler, callback) from recording anything.
class Alone {
 public:
  explicit Alone(LockThread& thread) noexcept : thread_(thread), is_first_(!thread.inside) {
    thread.inside = true;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Alone() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (is_first_) thread_.inside = false;
  }
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;
  explicit operator bool() const noexcept { return is_first_; }

 private:
  LockThread& thread_;
  bool is_first_;
};

uint32_t tid_of(const LockThread& thread) { return thread.place.tid; }

hw_record head(int64_t now_ns, hw_type type, size_t bytes, uint32_t tid) {
  return {now_ns, static_cast<hw_u16>(type), static_cast<hw_u16>(bytes), tid};
}

template <typename Record>
bool put(ChunkFile& file, LockThread& thread, const Record& record) {
  static_assert(sizeof(Record) % 8 == 0);
  void* at = file.begin(thread.place, sizeof(Record));
  if (at == nullptr) return false;
  std::memcpy(at, &record, sizeof(Record));
  file.commit(thread.place, sizeof(Record));
  return true;
}

}  // namespace

bool LockRecords::start(ChunkFile& file, pid_t pid, uint32_t number, const Options& options) noexcept {
  file_ = &file;
  options_ = options;
  started_ns_ = monotonic_ns();
  recording_ = static_cast<uint16_t>(number % UINT16_MAX + 1);
  // agent-<pid>.2.spool has locks-<pid>.2.table beside it.
  std::string path = file.path();
  const size_t name = path.rfind("/agent-");
  const size_t ending = path.rfind(".spool");
  if (name == std::string::npos || ending == std::string::npos) return false;
  path.replace(ending, std::string::npos, ".table");
  path.replace(name, 7, "/locks-");
  if (!identity_.reserve(std::max(options.max_slots, 2U)) || !waits_.reserve(number)) return false;
  if (options.park_threshold > 0 && !early_.reserve()) return false;
  judge_at_.fill(kLeastBrief);
  constexpr uint32_t kRests = HW_LOCK_CLASSES * kKinds;
  if (!rests_.reserve(kRests, kRests) || !rests_.make_room(kRests)) return false;
  if (!table_.create(path, pid, options.no_map, options.max_slots)) return false;
  parks_alone_ = table_.take_slot();
  return parks_alone_ != 0 && identity_.make_room(parks_alone_);
}

// --- who an object is ------------------------------------------------------------------------------------------------

uint32_t LockRecords::known(JavaSide& java, LockThread& thread, const Who& who) noexcept {
  if (is_last(thread, who)) return thread.last_slot;
  const uint32_t slot = identity_.find(who.key(), [&](Identity::Ref ref) { return java.same(ref, who.object); });
  if (slot != 0) remember(thread, who, slot);
  return slot;
}

// Threads wait for the same object again and again. It is the same if it is where it was and has its hash, 31 bits that
// the JVM draws at random: to ask the JVM would be a third of what a wait costs. Another one would have to have been
// put where that one was, and to have drawn the same hash. While it lives it keeps its slot.
bool LockRecords::is_last(const LockThread& thread, const Who& who) const noexcept {
  return thread.last_hash == who.hash && thread.last_address == who.address && thread.last_kind == who.kind &&
         thread.last_recording == recording_ && who.address != 0;
}

void LockRecords::remember(LockThread& thread, const Who& who, uint32_t slot) const noexcept {
  thread.last_address = who.address;
  thread.last_hash = who.hash;
  thread.last_kind = who.kind;
  thread.last_slot = slot;
  thread.last_blocker = identity_.blocker_id(slot);
  thread.last_recording = recording_;
}

uint32_t LockRecords::class_of(JavaSide& java, const Beginning& it, char (&text)[kClassBytes],
                               std::string_view& name) noexcept {
  for (KnownClass& known : known_classes_) {
    const Identity::Ref ref = known.ref.load(std::memory_order_acquire);
    if (ref == 0) break;
    const uint32_t hash = known.hash.load(std::memory_order_relaxed);
    if (hash != 0 && it.class_hash != 0 && hash != it.class_hash) continue;
    if (!java.is_of(ref, it.blocker)) continue;
    if (hash == 0) known.hash.store(it.class_hash, std::memory_order_relaxed);
    known.met.fetch_add(1, std::memory_order_relaxed);
    name = table_.class_name_of(known.index);
    if (name.empty()) break;  // the table was cut off
    return known.index;
  }
  name = {text, java.class_name(it.blocker, text, sizeof(text))};
  const uint32_t index = table_.class_index(name);
  // Not where the table has no place for it, or for not all of its name. Another thread may remember the same class.
  if (index == 0 || table_.class_name_of(index) != name ||
      classes_met_.load(std::memory_order_relaxed) >= kKnownClasses) {
    return index;
  }
  const uint32_t place = classes_met_.fetch_add(1, std::memory_order_relaxed);
  if (place >= kKnownClasses) return index;
  known_classes_[place].index = index;
  known_classes_[place].hash.store(it.class_hash, std::memory_order_relaxed);
  known_classes_[place].ref.store(java.keep_class_weakly(it.blocker), std::memory_order_release);
  return index;
}

// What has an owner is a lock, and always recorded by itself; so is what a thread waits for a third time, and all once
// no single blocks are written, which alone tell the objects from each other. The class is told by its identity hash:
// to ask the JVM takes three calls, a tenth of what the wait costs.
LockRecords::Found LockRecords::together(LockThread& thread, const Beginning& it, uint64_t key) noexcept {
  const uint32_t briefs = briefs_.load(std::memory_order_acquire);
  if (briefs == 0 || it.class_hash == 0 || it.kind != HW_BK_PARK || it.owner_java_id != 0 ||
      (it.flags & HW_BL_ATTACHED) != 0)
    return {};
  if (capped_.load(std::memory_order_relaxed)) return {};
  for (uint32_t i = 0; i < briefs; ++i) {
    const KnownClass& known = known_classes_[brief_[i].load(std::memory_order_relaxed)];
    if (known.hash.load(std::memory_order_relaxed) != it.class_hash) continue;
    if (thread.brief.count(key) >= kMostBriefParks) return {};
    const uint64_t rest = known.rest.load(std::memory_order_relaxed);
    return {static_cast<uint32_t>(rest), static_cast<uint32_t>(rest >> 32), 0, true};
  }
  return {};
}

LockRecords::Found LockRecords::blocker_of(JavaSide& java, LockThread& thread, const Beginning& it) noexcept {
  if (it.blocker == nullptr) {
    if ((it.flags & HW_BL_SLEEP) != 0) return rest_of(thread, table_.class_index(kSleep), HW_BK_PARK);
    if (!is_alone_open_.load(std::memory_order_relaxed)) {
      table_.set_kind(parks_alone_, HW_BK_PARK);
      is_alone_open_.store(true, std::memory_order_relaxed);
    }
    return {parks_alone_, 0, 0, false};
  }
  const Who who{it.blocker, it.address, it.hash, it.kind};
  if (is_last(thread, who)) return {thread.last_slot, thread.last_blocker, 0, false};
  return find_blocker(java, thread, it);
}

LockRecords::Found LockRecords::find_blocker(JavaSide& java, LockThread& thread, const Beginning& it) noexcept {
  const Who who{it.blocker, it.address, it.hash, it.kind};
  if (const Found brief = together(thread, it, who.key()); brief.slot != 0) return brief;
  if (const uint32_t slot = known(java, thread, who)) return {slot, identity_.blocker_id(slot), 0, false};
  if (options_.park_threshold > 0 && !early_.reached(who.key(), options_.park_threshold)) {
    table_.count_below_threshold();
    return {};
  }
  Found found = new_blocker(java, thread, it);
  if (found.slot == 0) {  // then its class at least has the sums
    char text[kClassBytes];
    std::string_view name;
    found = rest_of(thread, class_of(java, it, text, name), it.kind);
  }
  if (found.slot == 0) table_.count_dropped();
  return found;
}

// Objects of one class that have names of their own: the JVM's locks of classes, and what stands for a class.
size_t LockRecords::own_name(JavaSide& java, const Beginning& it, std::string_view class_name,
                             char (&text)[kClassBytes]) noexcept {
  if (it.kind == HW_BK_MONITOR && class_name == "int[]") return java.class_lock_name(it.blocker, text, sizeof(text));
  if (class_name != kClassObject) return 0;
  const size_t bytes = java.class_object_name(it.blocker, text, sizeof(text) - kOfClassObject.size());
  return bytes == 0 ? 0 : bytes + kOfClassObject.copy(text + bytes, kOfClassObject.size());
}

LockRecords::Found LockRecords::new_blocker(JavaSide& java, LockThread& thread, const Beginning& it) noexcept {
  const uint32_t slot = table_.take_slot();
  if (slot == 0) return {};
  const Identity::Ref ref = identity_.make_room(slot) ? java.keep_weakly(it.blocker) : 0;
  if (ref == 0) {
    table_.give_back(slot);
    return {};
  }
  char class_text[kClassBytes];
  char name_text[kThreadNameBytes];
  std::string_view class_name;
  std::string_view name;
  LockTable::Facts facts{};
  facts.blocker_id = next_blocker_.fetch_add(1, std::memory_order_relaxed);
  facts.identity_hash = it.hash;
  facts.class_index = class_of(java, it, class_text, class_name);
  if (const size_t bytes = own_name(java, it, class_name, class_text)) {
    const std::string_view own(class_text, bytes);
    const uint32_t index = table_.class_index(own);
    if (index != 0) facts.class_index = index;  // else that of all such objects
    class_name = own;
  }
  facts.kind = it.kind;
  facts.first_java_id = it.java_id;
  facts.parked_before = options_.park_threshold;
  // Thousands of new blockers a second are not worth a stack each.
  if (is_recorded_by_another(it)) {
    facts.first_stack_id = it.stack_id;
  } else if (new_stacks_.take(monotonic_ns())) {
    facts.first_stack_id = java.take_stack();
    name = {name_text, java.thread_name(name_text, sizeof(name_text))};
  }
  table_.open(slot, facts);
  const auto same = [&](Identity::Ref other) { return java.same(other, it.blocker); };
  const Who who{it.blocker, it.address, it.hash, it.kind};
  const uint32_t given = identity_.add(slot, who.key(), facts.blocker_id, ref, same);
  remember(thread, who, given);
  if (given != slot) {  // another thread was first
    java.let_go(ref);
    table_.give_back(slot);
    return {given, identity_.blocker_id(given), facts.first_stack_id, false};
  }
  thread.blocks.seen(facts.blocker_id);
  write_blocker(thread, facts, class_name, name);
  return {slot, facts.blocker_id, facts.first_stack_id, false};
}

LockRecords::Found LockRecords::rest_of(LockThread& thread, uint32_t class_index, uint16_t kind) noexcept {
  std::atomic<uint64_t>& place = rests_[class_index * kKinds + kind % kKinds];
  uint64_t seen = place.load(std::memory_order_acquire);
  if (seen == 0) {
    const uint32_t slot = table_.take_reserved_slot();
    if (slot == 0) return class_index == 0 ? Found{} : rest_of(thread, 0, kind);  // with those of no known class
    LockTable::Facts facts{};
    facts.blocker_id = next_blocker_.fetch_add(1, std::memory_order_relaxed);
    facts.class_index = class_index;
    facts.kind = kind;
    table_.open(slot, facts);
    const uint64_t made = uint64_t{facts.blocker_id} << 32 | slot;
    if (place.compare_exchange_strong(seen, made, std::memory_order_acq_rel)) {
      seen = made;
      write_blocker(thread, facts, table_.class_name_of(class_index), {});
    } else {  // another thread was first
      table_.give_back(slot);
    }
  }
  return {static_cast<uint32_t>(seen), static_cast<uint32_t>(seen >> 32), 0, false};
}

// --- waits -----------------------------------------------------------------------------------------------------------

Waits::Handle LockRecords::wait_begins(JavaSide& java, LockThread& thread, const Beginning& it) noexcept {
  const Alone alone(thread);
  if (!alone) return 0;
  const Sections::Inside inside(sections_, tid_of(thread));
  if (ended_.load()) return 0;
  // Seen from outside, but begun under our eyes: the thread itself has told of it.
  if (it.kind == HW_BK_PARK && (it.flags & HW_BL_ATTACHED) != 0 && waits_.waits(it.java_id)) return 0;
  const Found found = blocker_of(java, thread, it);
  if (found.slot == 0) return 0;
  Wait wait{};
  wait.java_id = it.java_id;
  wait.slot = found.slot;
  wait.blocker_id = found.blocker_id;
  wait.owner_java_id = it.owner_java_id;
  wait.kind = it.kind;
  wait.flags = static_cast<uint16_t>(it.flags);
  if (found.is_together) {
    wait.owner_java_id = it.hash;
    wait.flags |= HW_BL_TOGETHER;
  }
  int64_t now_ns = monotonic_ns();
  if (is_recorded_by_another(it)) {
    wait.stack_id = it.stack_id;
    wait.weight = it.stack_id != 0 ? 1 : 0;
  } else {
    wait.tid = tid_of(thread);
    if (found.first_stack_id != 0) {
      wait.stack_id = found.first_stack_id;
      wait.weight = 1;
    } else if (!capped_.load(std::memory_order_relaxed)) {
      const uint32_t weight = thread.blocks.weight_of_next(found.blocker_id, stacks_, new_stacks_, now_ns);
      if (weight != 0) {
        wait.stack_id = java.take_stack();
        if (wait.stack_id != 0) wait.weight = weight;
        now_ns = monotonic_ns();
      }
    }
  }
  // Its first block is not on record where it was below the threshold, or one of many objects that share a row.
  const bool is_more = (it.flags & HW_BL_AGAIN) != 0 && table_.has_waits(found.slot);
  if (!is_more) wait.flags &= static_cast<uint16_t>(~HW_BL_AGAIN);
  Wait over;
  if ((it.flags & HW_BL_ATTACHED) == 0 && waits_.take_seen(it.java_id, over)) {
    close(thread, over, now_ns, HW_BL_END_GUESSED);
  }
  wait.start_ns = table_.begin(found.slot, now_ns, is_more);
  const Waits::Handle handle = waits_.begin(wait, over);
  if (over.kind != 0) close(thread, over, wait.start_ns, HW_BL_END_GUESSED);
  if (handle == 0) {  // all ends just now, or no memory
    close(thread, wait, monotonic_ns(), ended_.load() ? HW_BL_OPEN : HW_BL_END_GUESSED);
  }
  return handle;
}

void LockRecords::wait_ends(LockThread& thread, Waits::Handle handle, uint32_t flags, int64_t due_ns) noexcept {
  const Alone alone(thread);
  const Sections::Inside inside(sections_, tid_of(thread));
  Wait wait;
  if (!waits_.end(handle, wait)) return;
  wait.tid = tid_of(thread);
  const int64_t now_ns = monotonic_ns();
  if (wait.waking_ns == 0 && due_ns > wait.start_ns && due_ns <= now_ns) wait.waking_ns = due_ns;
  close(thread, wait, now_ns, flags);
}

void LockRecords::close(LockThread& thread, Wait& wait, int64_t now_ns, uint32_t flags) noexcept {
  wait.flags = static_cast<uint16_t>(wait.flags | flags);
  write_block(thread, wait, table_.end(wait.slot, now_ns));
}

void LockRecords::waking(JavaSide& java, LockThread& thread, uint32_t target, uint32_t java_id) noexcept {
  const Alone alone(thread);
  if (!alone || !waits_.may_wait(target)) return;
  // In no section: the wait keeps its slot from being used again, and is there until somebody takes it out.
  const int64_t now_ns = monotonic_ns();
  const Waits::Woken woken = waits_.wake(target, java_id, now_ns);
  if (woken.handle == 0) return;
  if (woken.ends_with_it) {
    const Sections::Inside inside(sections_, tid_of(thread));
    Wait over;
    if (waits_.end(woken.handle, over)) close(thread, over, over.waking_ns, HW_BL_END_GUESSED);
    return;
  }
  if (capped_.load(std::memory_order_relaxed)) return;
  if (thread.wakings.weight_of_next(target, stacks_, stacks_, now_ns) == 0) return;
  const Sections::Inside inside(sections_, tid_of(thread));
  if (const uint32_t stack_id = java.take_stack()) waits_.set_waker_stack(woken.handle, stack_id);
}

void LockRecords::waiter_dies(LockThread& thread, uint32_t java_id) noexcept {
  const Alone alone(thread);
  const Sections::Inside inside(sections_, tid_of(thread));
  Wait wait;
  while (waits_.take(java_id, wait)) close(thread, wait, monotonic_ns(), HW_BL_END_GUESSED);
}

// --- holds -----------------------------------------------------------------------------------------------------------

// Others are queued, so it has a slot, unless none of them has parked yet: such a hold is let pass.
void LockRecords::held(JavaSide& java, LockThread& thread, const Hold& hold) noexcept {
  const Alone alone(thread);
  if (!alone || hold.synchroniser == nullptr || hold.start_ns < started_ns_) return;
  const Sections::Inside inside(sections_, tid_of(thread));
  const uint32_t slot = known(java, thread, {hold.synchroniser, hold.address, hold.hash, HW_BK_PARK});
  if (slot == 0) return;
  table_.add_hold(slot, hold.end_ns - hold.start_ns);
  if (!wants_events(thread)) return;
  const hw_record its_head = head(hold.end_ns, HW_HOLD, sizeof(hw_hold), tid_of(thread));
  put(*file_, thread, hw_hold{its_head, hold.start_ns, identity_.blocker_id(slot), hold.java_id});
}

// --- records ---------------------------------------------------------------------------------------------------------

bool LockRecords::wants_events(LockThread& thread) noexcept {
  if (capped_.load(std::memory_order_relaxed)) return false;
  if (!file_->used_past(kEventsShare)) return true;
  cap(thread);
  return false;
}

void LockRecords::cap(LockThread& thread) noexcept {
  if (capped_.exchange(true)) return;
  const int64_t now_ns = monotonic_ns();
  table_.set_capped(now_ns);  // also where the disk is full and the record finds no place
  put(*file_, thread, head(now_ns, HW_LOCKS_CAPPED, sizeof(hw_record), tid_of(thread)));
}

void LockRecords::write_block(LockThread& thread, const Wait& wait, int64_t end_ns) noexcept {
  if (!wants_events(thread)) return;
  const hw_record its_head = head(end_ns, HW_BLOCK, sizeof(hw_block), wait.tid);
  put(*file_, thread,
      hw_block{its_head, wait.start_ns, wait.waking_ns, wait.blocker_id, wait.stack_id, wait.java_id,
               wait.waker_java_id, wait.waker_stack_id, wait.owner_java_id, wait.kind, wait.flags, wait.weight});
}

void LockRecords::write_blocker(LockThread& thread, const LockTable::Facts& facts, std::string_view class_name,
                                std::string_view thread_name) noexcept {
  if (file_->used_past(kBlockersShare)) return;
  const size_t texts = class_name.size() + thread_name.size();
  const auto bytes = static_cast<uint32_t>((sizeof(hw_blocker) + texts + 7) / 8 * 8);
  hw_blocker record{};
  record.head = head(monotonic_ns(), HW_BLOCKER, bytes, tid_of(thread));
  record.blocker_id = facts.blocker_id;
  record.identity_hash = facts.identity_hash;
  record.kind = facts.kind;
  record.first_java_id = facts.first_java_id;
  record.first_stack_id = facts.first_stack_id;
  record.class_bytes = static_cast<hw_u16>(class_name.size());
  record.name_bytes = static_cast<hw_u16>(thread_name.size());
  auto* at = static_cast<char*>(file_->begin(thread.place, bytes));
  if (at == nullptr) return;
  std::memset(at + bytes - 8, 0, 8);  // the padding
  std::memcpy(at, &record, sizeof(record));
  std::copy(class_name.begin(), class_name.end(), at + sizeof(record));
  std::copy(thread_name.begin(), thread_name.end(), at + sizeof(record) + class_name.size());
  file_->commit(thread.place, bytes);
}

void LockRecords::write_dead(LockThread& thread, uint32_t blocker_id, uint32_t folded_into) noexcept {
  if (file_->used_past(kBlockersShare)) return;
  hw_blocker_dead record{};
  record.head = head(monotonic_ns(), HW_BLOCKER_DEAD, sizeof(record), tid_of(thread));
  record.blocker_id = blocker_id;
  record.folded_into = folded_into;
  put(*file_, thread, record);
}

// --- the end ---------------------------------------------------------------------------------------------------------

// Asks `java` (nullptr: nobody) who owns the monitors that are waited for, of each once and of few: it takes time.
void LockRecords::write_open(JavaSide* java, LockThread& thread, int64_t now_ns) noexcept {
  constexpr size_t kMostAsked = 32;
  struct Asked {
    uint32_t slot;
    uint32_t owner;
  };
  std::array<Asked, kMostAsked> asked{};
  size_t count = 0;
  Wait wait;
  for (uint64_t left = waits_.count(); left > 0 && waits_.take_any(wait); --left) {
    wait.flags |= HW_BL_OPEN;
    if (java != nullptr && wait.kind == HW_BK_MONITOR && now_ns - wait.start_ns >= options_.long_wait_ns) {
      size_t at = 0;
      while (at < count && asked[at].slot != wait.slot) ++at;
      if (at == count && count < kMostAsked && identity_.make_room(wait.slot)) {
        const Identity::Ref ref = identity_.ref(wait.slot);
        asked[count++] = {wait.slot, ref == 0 ? 0 : java->monitor_owner(ref)};
      }
      if (at < count) wait.owner_java_id = asked[at].owner;
    }
    write_block(thread, wait, std::max(now_ns, wait.start_ns));
  }
}

void LockRecords::end(JavaSide* java, LockThread& thread) noexcept {
  if (ended_.exchange(true)) return;
  waits_.close();
  // Give threads that are in the middle of a call a moment to finish it. One that takes longer stores into memory that
  // is nobody's from then on, and its last wait is lost.
  const int64_t deadline_ns = monotonic_ns() + options_.patience_ns;
  sections_.start_waiting();
  Backoff backoff;
  bool all_left = false;
  while (!(all_left = !looking_.load() && sections_.all_left()) && monotonic_ns() < deadline_ns) backoff.pause();
  const int64_t now_ns = monotonic_ns();
  const uint64_t open = waits_.count();
  write_open(all_left ? java : nullptr, thread, now_ns);
  table_.close_times(now_ns);
  table_.set_updated(now_ns, open);
  const uint32_t used = table_.slots();
  table_.release();
  if (java == nullptr || !all_left) return;
  for (KnownClass& known : known_classes_) {
    if (const Identity::Ref ref = known.ref.exchange(0)) java->let_go(ref);
  }
  for (uint32_t slot = 1; slot < used; ++slot) {
    if (!identity_.make_room(slot)) continue;
    if (const Identity::Ref ref = identity_.ref(slot)) java->let_go(ref);
    if (const Identity::Ref ref = identity_.take_retired_ref(slot)) java->let_go(ref);
  }
}

}  // namespace headway::agent
