// One recording of locks: every wait for a lock as a record, and exact sums by lock.
//
// It ties together who an object is (Identity), who waits now (Waits), the sums (LockTable) and the single events
// (ChunkFile). What it must know of the JVM it asks its caller for (JavaSide), so that it can be tested without one;
// waits/blockers.cpp is that side.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "agent/core/chunk_file.h"
#include "agent/core/spin.h"
#include "agent/locks/identity.h"
#include "agent/locks/lock_table.h"
#include "agent/locks/lock_thread.h"
#include "agent/locks/waiting.h"

namespace headway::agent {

using Object = void*;  // whatever JavaSide makes of it; nullptr: a park without a blocker

// How the JVM's own locks of classes are named; which class it is may follow.
inline constexpr std::string_view kClassLock = "class initialisation";
// What virtual threads in Thread.sleep are said to wait for.
inline constexpr std::string_view kSleep = "java.lang.Thread.sleep";
// What static synchronized methods lock, and how such an object is named: "com.acme.Store.class".
inline constexpr std::string_view kClassObject = "java.lang.Class";
inline constexpr std::string_view kOfClassObject = ".class";

// Asked on the calling thread, with nothing locked.
class JavaSide {
 public:
  virtual ~JavaSide() = default;
  virtual bool same(Identity::Ref ref, Object object) noexcept = 0;  // no object that was collected is
  virtual bool is_collected(Identity::Ref ref) noexcept = 0;
  virtual Identity::Ref keep_weakly(Object object) noexcept = 0;  // 0: no memory
  virtual void let_go(Identity::Ref ref) noexcept = 0;
  virtual size_t class_name(Object object, char* out, size_t capacity) noexcept = 0;  // UTF-8, as Java writes it
  // Of an int[] whose monitor the thread is about to enter: what it is called where it is a lock of the JVM's own
  // (class_locks.cpp), beginning with kClassLock. 0: it is the program's.
  virtual size_t class_lock_name(Object int_array, char* out, size_t capacity) noexcept = 0;
  // Of an object of kClassObject: the class that it stands for, as Java writes it. 0: not known.
  virtual size_t class_object_name(Object class_object, char* out, size_t capacity) noexcept = 0;
  // A reference to the class of an object, and whether an object is of exactly that class.
  virtual Identity::Ref keep_class_weakly(Object object) noexcept = 0;  // 0: no memory
  virtual bool is_of(Identity::Ref type, Object object) noexcept = 0;
  virtual size_t thread_name(char* out, size_t capacity) noexcept = 0;  // of the calling thread, UTF-8
  virtual uint32_t take_stack() noexcept = 0;
  // Java id of the thread that owns the object's monitor; 0: none, or not known. Stops the program for a moment.
  virtual uint32_t monitor_owner(Identity::Ref ref) noexcept = 0;
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): what every wait needs lies in lines of its own
class LockRecords {
 public:
  struct Options {
    uint32_t park_threshold = 0;  // parks of a blocker that are counted only, before it is recorded
    bool forget_dead = false;
    bool no_map = false;
    uint32_t max_slots = LockTable::kMaxSlots;
    // A look at a hundred thousand blockers takes milliseconds: so many times longer is the rest until the next one,
    // while there is room.
    uint32_t rest_per_look = 100;
    // How long end() waits for threads that are in the middle of a call.
    int64_t patience_ns = 50'000'000;
    // end() asks for the owner of a monitor that was waited for that long: what a deadlock looks like.
    int64_t long_wait_ns = 100'000'000;
  };

  // `number`: of this recording in this process, from 1.
  bool start(ChunkFile& file, pid_t pid, uint32_t number, const Options& options) noexcept;

  struct Beginning {
    uint16_t kind;
    Object blocker;
    uintptr_t address;  // where it is now; it moves. 0: not known
    uint32_t hash;
    uint32_t class_hash;  // the identity hash of its class; 0: not known
    uint32_t java_id;
    uint32_t owner_java_id;
    uint32_t flags;
    uint32_t stack_id = 0;  // of a thread that was seen to wait (HW_BL_ATTACHED); 0: not known
  };
  Waits::Handle wait_begins(JavaSide& java, LockThread& thread, const Beginning& it) noexcept;
  // `due_ns`: when its time was over, which woke it if nobody else did; 0: not known.
  void wait_ends(LockThread& thread, Waits::Handle wait, uint32_t flags, int64_t due_ns = 0) noexcept;
  bool goes_on(Waits::Handle wait) noexcept { return waits_.goes_on(wait); }
  void waking(JavaSide& java, LockThread& thread, uint32_t target, uint32_t java_id) noexcept;
  struct Hold {
    Object synchroniser;
    uintptr_t address;
    uint32_t hash;
    uint32_t java_id;
    int64_t start_ns;
    int64_t end_ns;
  };
  // It may have ended a while ago. One that began before this recording is let pass.
  void held(JavaSide& java, LockThread& thread, const Hold& hold) noexcept;
  void not_timed(uint32_t holds) noexcept { table_.count_untimed(holds); }
  void waiter_dies(LockThread& thread, uint32_t java_id) noexcept;

  // One thread at a time. `collections`: how many garbage collections there were; looks for dead ones after new ones.
  void poll(JavaSide& java, LockThread& thread, uint64_t collections) noexcept;
  // Writes what waits as open, brings the sums up to now, lets go of the table. With `java` (nullptr: the JVM goes
  // anyway) the weak references are given back. Once.
  void end(JavaSide* java, LockThread& thread) noexcept;

 private:
  static constexpr size_t kClassBytes = 1024;
  // Slots one after the other, by Identity::next_retired.
  struct SlotQueue {
    uint32_t first = 0;
    uint32_t last = 0;
    uint32_t count = 0;
  };
  struct Found {
    uint32_t slot = 0;  // 0: not recorded
    uint32_t blocker_id = 0;
    uint32_t first_stack_id = 0;  // the slot is new: the stack that was taken for it
    bool is_together = false;     // HW_BL_TOGETHER
  };

  [[gnu::cold]] Found find_blocker(JavaSide& java, LockThread& thread, const Beginning& it) noexcept;
  Found blocker_of(JavaSide& java, LockThread& thread, const Beginning& it) noexcept;
  [[gnu::cold]] Found new_blocker(JavaSide& java, LockThread& thread, const Beginning& it) noexcept;
  // The blocker that stands for all of a class and kind that have no slot of their own: dead ones whose slot is used
  // again, and live ones that found none.
  Found rest_of(LockThread& thread, uint32_t class_index, uint16_t kind) noexcept;
  uint32_t class_of_rest(uint32_t class_index) noexcept;
  // The number of an object's class in the table, and its name, for which there is room in `text`.
  uint32_t class_of(JavaSide& java, const Beginning& it, char (&text)[kClassBytes], std::string_view& name) noexcept;
  static size_t own_name(JavaSide& java, const Beginning& it, std::string_view class_name,
                         char (&text)[kClassBytes]) noexcept;
  // Programs make new objects of a few classes to wait on by the thousands; those of others are asked for their name.
  struct KnownClass {
    std::atomic<Identity::Ref> ref;
    std::atomic<uint32_t> hash;  // identity hash of the class; 0: not known yet
    uint32_t index;
    std::atomic<uint32_t> met;   // objects of it that got a slot of their own
    std::atomic<uint64_t> rest;  // what rest_of() gave: further objects of it are recorded together; 0: not
  };
  // The row of all short-lived objects of a class, for one of them; slot 0: it has, or is to have, its own.
  Found together(LockThread& thread, const Beginning& it, uint64_t key) noexcept;
  // An object by what tells it from others.
  struct Who {
    Object object;
    uintptr_t address;
    uint32_t hash;
    uint16_t kind;
    uint64_t key() const noexcept { return Identity::key(hash, kind); }
  };
  // The slot that an object has; 0: none. Looks first at the one that the thread met last.
  uint32_t known(JavaSide& java, LockThread& thread, const Who& who) noexcept;
  bool is_last(const LockThread& thread, const Who& who) const noexcept;
  void remember(LockThread& thread, const Who& who, uint32_t slot) const noexcept;
  void write_blocker(LockThread& thread, const LockTable::Facts& facts, std::string_view class_name,
                     std::string_view thread_name) noexcept;
  void write_dead(LockThread& thread, uint32_t blocker_id, uint32_t folded_into) noexcept;
  void write_block(LockThread& thread, const Wait& wait, int64_t end_ns) noexcept;
  void close(LockThread& thread, Wait& wait, int64_t now_ns, uint32_t flags) noexcept;
  void write_open(JavaSide* java, LockThread& thread, int64_t now_ns) noexcept;
  bool wants_events(LockThread& thread) noexcept;
  [[gnu::cold]] void cap(LockThread& thread) noexcept;
  void find_brief(LockThread& thread) noexcept;
  bool is_brief(uint32_t class_index) const noexcept;
  void find_dead(JavaSide& java, LockThread& thread) noexcept;
  void free_retired(JavaSide& java, LockThread& thread) noexcept;
  void forget_some(LockThread& thread) noexcept;
  bool forget(LockThread& thread, uint32_t slot) noexcept;
  void append(SlotQueue& queue, uint32_t slot) noexcept;
  uint32_t take_first(SlotQueue& queue) noexcept;

  static constexpr uint32_t kKinds = 4;
  static constexpr uint32_t kKnownClasses = 64;
  // A class is judged by so many objects at least: are they waited for twice at most, but for one in so many?
  static constexpr uint32_t kLeastBrief = 1024;
  static constexpr uint32_t kMostBriefParks = 2;
  static constexpr uint32_t kOneInLasting = 64;

  // What every wait looks at comes first, in few lines of the cache and pages.
  ChunkFile* file_ = nullptr;
  std::atomic<bool> ended_{false};
  std::atomic<bool> capped_{false};
  uint16_t recording_ = 0;  // its number; 0: it has not begun
  std::atomic<uint32_t> briefs_{0};
  Identity identity_;
  LockTable table_;
  Waits waits_;
  Sections sections_;
  Options options_;
  int64_t started_ns_ = 0;
  EarlyCounts early_;
  Arena<std::atomic<uint64_t>> rests_;  // by class and kind: the blocker of rest_of() and its slot
  std::array<KnownClass, kKnownClasses> known_classes_{};
  std::atomic<uint32_t> classes_met_{0};
  std::array<std::atomic<uint8_t>, kKnownClasses> brief_{};  // places of such classes
  uint32_t parks_alone_ = 0;  // the slot of parks without a blocker, free to readers until there is one
  std::atomic<bool> is_alone_open_{false};
  std::atomic<uint32_t> next_blocker_{1};
  std::atomic<bool> looking_{false};
  // A stack takes microseconds, thirty of them on a busy server, where what the JVM looks at for it is in no cache. The
  // first ones tell a site's share of the beginning within 1.5 points; after them 25 in a second cost 0.1 % of a core,
  // and tell it within 3 points once a minute has passed, within 6 in ten seconds (95 %). New blockers, and a thread's
  // first block on one, have as many of their own.
  static constexpr int64_t kFirstStacks = 4096;
  static constexpr int64_t kStacksKept = 2;
  static constexpr int64_t kStackEvery = 40'000'000;
  static constexpr int64_t kNewStackEvery = 40'000'000;
  SharedAllowance stacks_{kFirstStacks, kStacksKept, kStackEvery};
  SharedAllowance new_stacks_{kFirstStacks, kStacksKept, kNewStackEvery};

  // Of the thread that looks after the dead.
  uint64_t collections_seen_ = 0;
  int64_t looked_ns_ = 0;
  int64_t rest_ns_ = 0;                             // from one look to the next
  std::array<uint32_t, kKnownClasses> judge_at_{};  // so many objects of a class, the next time
  SlotQueue leaving_;                               // retired; waiting for threads to leave the sections they were in
  SlotQueue retired_;                               // to wait in the next round
  SlotQueue dead_;                                  // kept in the table until room is short
};

}  // namespace headway::agent
