// Counting in windows: for a short spell of each period everything is counted, between them only marks are, pieces of
// code that are rarely executed. How many marks a thread passes in windows and between them says how much of its work the
// windows saw, although it works slower in them. By how much slower differs from one thing that it does to another: what a
// window has counted is multiplied by the marks of a spell as long right before it, and divided by its own. So each window
// weighs as much as what the thread did at that time at its own speed.
//
// Windows are put into groups in turn, so that an estimate's interval follows from how much groups differ. Group 0 has what
// all windows have counted, as it is; the first window, at the start, is in none of the others.
//
// Knows nothing of the JVM.
#pragma once

#include <time.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace headway::agent {

// How much a thread did in the windows of a group, between these and those before them, and of that in the spells, as long as
// a window, right before them.
struct WindowWork {
  uint64_t marks_in = 0, marks_between = 0, marks_before = 0;
  int64_t cpu_in_ns = 0, cpu_between_ns = 0;
};

// What one thread has counted, by group of windows. Words are those of its block of counters (access_counters.h).
class WindowedThread {
 public:
  static constexpr uint32_t kGroups = 10;  // from 1 on
  static constexpr uint32_t kAll = kGroups + 1;

  // On the thread itself.
  static std::unique_ptr<WindowedThread> make(size_t words) noexcept;
  ~WindowedThread();
  WindowedThread(const WindowedThread&) = delete;
  WindowedThread& operator=(const WindowedThread&) = delete;

  const uint64_t* group(uint32_t number) const { return part(number); }
  const WindowWork& work(uint32_t number) const { return work_[number]; }

 private:
  friend class AccessWindows;
  WindowedThread(uint64_t* memory, size_t words) : memory_(memory), words_(words) {}

  uint64_t* part(size_t number) const { return memory_ + number * words_; }
  uint64_t* before() const { return part(kAll); }      // at the last edge of a window
  uint64_t* in_last() const { return part(kAll + 1); }  // in the last window
  int64_t cpu_since_edge() noexcept;

  uint64_t* memory_;
  size_t words_;
  clockid_t clock_ = CLOCK_THREAD_CPUTIME_ID;
  int64_t cpu_ns_ = 0;  // at the last edge
  std::array<WindowWork, kAll> work_{};
  WindowWork gap_{};             // before the next window, or the one that is open
  uint32_t last_group_ = 0;
  uint64_t marks_at_look_ = 0;  // since the last edge, a window's length before the next
  double slower_ = 1;        // in the last window in which it passed marks: so many times
  uint64_t last_marks_ = 0;  // in the last window, by the marks that counted before it
  uint64_t next_marks_ = 0;  // by those that count since
};

class AccessWindows {
 public:
  // Which words of a block hold what.
  struct Layout {
    size_t counters = 0;   // words from 0 on
    size_t rows = 0;       // behind them, of row_words words each
    size_t row_words = 4;
    size_t words = 0;      // of a block
  };
  struct Words {
    size_t first = 0, count = 0;
  };

  // The first window is open from now on. False: no memory.
  bool start(const Layout& layout) noexcept;
  bool is_on() const { return !switches_.empty(); }
  // A byte for each counter, and behind them for each row: whether it is counted now, kOn or kOff. The hook class has a copy.
  std::span<const uint8_t> switches() const { return switches_; }
  size_t words() const { return layout_.words; }
  uint32_t windows() const { return windows_; }

  // One thread and its block. All calls are one at a time, and have all threads.
  struct Counting {
    WindowedThread* thread;
    const uint64_t* block;
  };
  // A window's length from now a window begins.
  void look(std::span<const Counting> all) noexcept;
  static constexpr uint8_t kOn = 1, kOff = 2;
  // What is counted from now on is in the window: all has been switched on (open_window), and it takes effect.
  // `in_use`: the words that may be counted in.
  void open_window() noexcept { switch_all(true); }
  void begin_window(std::span<const Counting> all, std::span<const Words> in_use) noexcept;
  // Behind it the switches are to take effect.
  void end_window(std::span<const Counting> all, std::span<const Words> in_use) noexcept;
  // This thread counts no more, or nothing is counted any more: what it has counted since the last edge.
  void end() noexcept { switch_all(false); }
  void end_thread(const Counting& counting, std::span<const Words> in_use) noexcept;

 private:
  void switch_all(bool on) noexcept;
  void choose_marks() noexcept;
  uint64_t marks_of(const uint64_t* words) const noexcept;
  uint64_t marks_since_edge(const Counting& counting) const noexcept;
  void take_window(const Counting& counting, std::span<const Words> in_use) noexcept;
  void add_window(WindowedThread& thread, std::span<const Words> in_use) noexcept;
  void take_gap(const Counting& counting, std::span<const Words> in_use) noexcept;
  uint32_t group() const { return windows_ == 0 ? 0 : 1 + (windows_ - 1) % WindowedThread::kGroups; }
  // Whose word it is; none: of neither a counter nor a row.
  std::optional<uint32_t> place_of(size_t word) const noexcept;
  template <typename Visit>
  void for_each_word(uint32_t place, Visit visit) const;

  Layout layout_;
  std::vector<uint8_t> switches_;
  std::vector<uint64_t> in_windows_;  // by switch: how often, all threads and windows
  std::vector<uint32_t> marks_;       // switches that are always on
  bool is_open_ = false;
  uint32_t windows_ = 0;  // that have ended
};

}  // namespace headway::agent
