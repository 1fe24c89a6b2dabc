// The objects that threads of an imported file waited for: their numbers and sums, in one pass over the waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace headway::jfr {

struct WaitObject {
  int32_t kind = 0;
  int64_t class_name = 0;  // the caller's number of it
  int64_t address = 0;     // 0: none
  int64_t first_ns = 0, last_ns = 0;
  int64_t first_thread = -1, first_stack = -1;
  int64_t times = 0, thread_time_ns = 0;
  int64_t peak = 0, real_time_ns = 0;  // of the changes so far
  int64_t waiting = 0, changed_ns = 0;
};

// Columns of equal length, a row per wait.
struct WaitColumns {
  std::span<const int64_t> class_name, address, thread, stack, start_ns, dur_ns;
};

class WaitObjects {
 public:
  // Takes waits of one kind, in any order; returns the number of each one's object, dense from 0.
  std::vector<int32_t> add(int32_t kind, const WaitColumns& waits);
  // All waits at once, in order of start: how many threads waited for each object at a time.
  void levels(std::span<const int32_t> object, std::span<const int64_t> start_ns, std::span<const int64_t> dur_ns);
  // The same by single changes (+1: a wait begins, -1: it ends), which come in order of time, ends first.
  void changes(std::span<const int32_t> object, std::span<const int64_t> ns, std::span<const int64_t> change);
  const std::vector<WaitObject>& objects() const { return objects_; }

 private:
  struct Key {
    int32_t kind;
    int64_t class_name, address;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const;
  };
  void change(int32_t object, int64_t ns, int64_t by);

  std::vector<WaitObject> objects_;
  std::unordered_map<Key, int32_t, Hash> numbers_;
};

}  // namespace headway::jfr
