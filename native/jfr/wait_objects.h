// The objects that threads of an imported file waited for: their numbers and sums, in one pass over the waits.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace headway::jfr {

struct WaitObject {
  int32_t kind = 0;
  int64_t class_name = 0;  // the caller's number of it
  int64_t address = 0;     // 0: none
  int64_t first_ns = 0, last_ns = 0;
  int32_t first_thread = -1, first_stack = -1;
  int64_t times = 0, thread_time_ns = 0;
  int64_t peak = 0, real_time_ns = 0;  // of the levels so far
  int64_t waiting = 0, changed_ns = 0;
};

// Columns of equal length, a row per wait.
struct WaitColumns {
  std::span<const int64_t> class_name, address;
  std::span<const int32_t> thread, stack;
  std::span<const int64_t> start_ns, dur_ns;
};

// Follows the waits of a file in order of time, object by object.
class WaitObjects {
 public:
  static constexpr size_t kMostOpen = 8 << 20;     // 128 MiB
  static constexpr size_t kMostObjects = 1 << 20;  // about 100 MiB
  // `most_open`: so many waits at a time are followed by `levels`. `most_objects`: so many are told apart; a server
  // that makes one for each request has more, and what it waits for after that is one object of each class, without
  // address.
  explicit WaitObjects(size_t most_open = kMostOpen, size_t most_objects = kMostObjects)
      : most_open_(std::max<size_t>(most_open, 1)), most_objects_(most_objects) {}

  // Takes waits of one kind, in any order; returns the number of each one's object, dense from 0.
  std::vector<int32_t> add(int32_t kind, const WaitColumns& waits);
  // All waits again, in order of start, in batches: how many threads waited for each object at a time.
  void levels(std::span<const int32_t> object, std::span<const int64_t> start_ns, std::span<const int64_t> dur_ns);
  void end_levels();
  // Waits of which not all was followed, because more than `most_open` were open: peaks and real times are then too
  // low. A thread waits for one thing at a time, so that takes as many threads, or a damaged file.
  uint64_t not_followed() const { return not_followed_; }
  // Waits for an object that was not told apart from others of its class.
  uint64_t not_told_apart() const { return not_told_apart_; }
  const std::vector<WaitObject>& objects() const { return objects_; }

 private:
  struct Key {
    int32_t kind;
    int64_t class_name, address;
    bool operator==(const Key&) const = default;
  };
  int32_t number(Key key);
  static constexpr size_t kNear = 16;  // waits
  size_t first_slot(const Key& key) const;
  int32_t* slot(const Key& key);
  void bring_near(int32_t kind, const WaitColumns& waits, size_t from) const;
  void bring_near(int32_t object) const;
  void grow();
  void change(int32_t object, int64_t ns, int64_t by);
  void leave(int64_t ns);

  std::vector<WaitObject> objects_;
  std::vector<int32_t> slots_ = std::vector<int32_t>(64, -1);  // places in objects_, by their keys; -1: empty
  std::vector<std::pair<int64_t, int32_t>> open_;              // a heap of (end, object): the next to end is the first
  size_t most_open_, most_objects_;
  uint64_t not_followed_ = 0, not_told_apart_ = 0;
};

}  // namespace headway::jfr
