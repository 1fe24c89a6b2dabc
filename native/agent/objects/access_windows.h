// Counting in windows: for a short spell of each period everything is counted, between them only marks are, pieces of code
// that are rarely executed. A thread works several times as slowly in a window as between them, and by how much differs from
// one thing that it does to another. So the marks of the spell right before each window, as long as the window, say how much
// of the window's work the thread did there at its own speed: what the window counted is multiplied by the marks of the spell
// and divided by its own. As windows begin at random moments, these spells are a sample of the thread's time between windows.
//
// Of each mark it is known how often it was really passed in the spells: how far that is from what the windows say of it, mark
// by mark, tells whether windows are like the spells before them.
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
#include <span>
#include <vector>

namespace headway::agent {

// CPU time of a thread, ns, by what is known of it.
struct WindowWork {
  int64_t in_ns = 0;       // in windows
  int64_t own_ns = 0;      // what the same would have taken at the thread's own speed
  int64_t between_ns = 0;  // between windows
  int64_t before_ns = 0;   // of that, in spells before windows of which it is known what the thread did there
  int64_t unseen_ns = 0;   // in those of which it is not: it passed too few marks there, or in the window
};

// How well the windows of a thread say which marks it passed in the spells before them.
struct MarkCheck {
  uint64_t passed = 0;  // in the spells, all marks
  uint64_t in = 0;      // in the windows of these
  // So many more or fewer than the windows say, added up mark by mark, without most of what chance explains (access_windows.cpp).
  uint64_t wrong = 0;
  uint64_t largest = 0;  // of `passed`, those of the mark that was passed most often
};

// What one thread has counted, by group of windows. Words are the counters of its block (access_counters.h).
class WindowedThread {
 public:
  static constexpr uint32_t kGroups = 10;  // from 1 on
  static constexpr uint32_t kKnown =
      kGroups + 1;  // what the windows counted of which it is known what was done before them
  static constexpr uint32_t kAll = kKnown + 1;

  // On the thread itself. Null: there is no memory.
  static std::unique_ptr<WindowedThread> make(size_t words) noexcept;
  ~WindowedThread();
  WindowedThread(const WindowedThread&) = delete;
  WindowedThread& operator=(const WindowedThread&) = delete;

  uint64_t* counters_of_group(uint32_t number) const { return part(number); }
  const WindowWork& work(uint32_t number) const { return work_[number]; }
  MarkCheck check(size_t words_in_use) const noexcept;

 private:
  friend class AccessWindows;
  WindowedThread(uint64_t* memory, size_t words) : memory_(memory), words_(words) {}

  uint64_t* part(size_t number) const { return memory_ + number * words_; }
  uint64_t* before() const { return part(kAll); }       // at the last edge of a window
  uint64_t* in_last() const { return part(kAll + 1); }  // in the last window
  uint64_t* spell() const {
    return part(kAll + 2);
  }  // marks: when the spell began, then how often they were passed in it
  uint64_t* passed() const { return part(kAll + 3); }  // marks: in all spells that are known
  double* estimated() const { return reinterpret_cast<double*>(part(kAll + 4)); }  // the same, by what windows say
  // Marks: by how much these two differ by chance, squared, if passes are independent of each other.
  double* chance() const { return reinterpret_cast<double*>(part(kAll + 5)); }
  int64_t cpu_since_edge() const noexcept;

  uint64_t* memory_;
  size_t words_;
  clockid_t clock_ = CLOCK_THREAD_CPUTIME_ID;
  int64_t cpu_ns_ = 0;           // at the last edge
  int64_t cpu_to_spell_ns_ = 0;  // since then until the spell before the next window began
  std::array<WindowWork, kAll> work_{};
  uint64_t marks_in_ = 0;              // in windows of which it is known what was done before them
  int64_t gap_ns_ = 0, spell_ns_ = 0;  // CPU time before the window that is open, and of that in the spell
};

class AccessWindows {
 public:
  // All counters count from now on, in the first window.
  void start(size_t counters) noexcept;
  bool is_on() const { return !switches_.empty(); }
  // A byte for each counter: whether it counts now, kOn or kOff. The hook class has a copy.
  std::span<const uint8_t> switches() const { return switches_; }
  uint32_t windows() const { return windows_; }

  // One thread and its block. All calls are one at a time, and have all threads.
  struct Counting {
    WindowedThread* thread;
    const uint64_t* block;
  };
  static constexpr uint8_t kOn = 1, kOff = 2;
  // A window's length from now a window begins.
  void look(std::span<const Counting> all) noexcept;
  void open_window() noexcept;
  // All has been switched on, and that has taken effect: what is counted from now on is in the window. `in_use`: so many counters
  // may be in use.
  void begin_window(std::span<const Counting> all, size_t in_use) noexcept;
  // Behind it the switches are to take effect.
  void end_window(std::span<const Counting> all, size_t in_use) noexcept;
  // This thread counts no more, or nothing is counted any more: what it has counted since the last edge.
  void end_thread(const Counting& counting, size_t in_use) noexcept;
  // Nothing is counted any more: later edges change nothing.
  void end() noexcept;

 private:
  void switch_all(bool on) noexcept;
  void choose_marks() noexcept;
  void take_gap(const Counting& counting, size_t in_use) noexcept;
  void take_window(const Counting& counting, size_t in_use) noexcept;
  void add_spell(WindowedThread& thread, size_t in_use) noexcept;
  uint32_t group() const { return windows_ == 0 ? 0 : 1 + (windows_ - 1) % WindowedThread::kGroups; }

  std::vector<uint8_t> switches_;
  std::vector<uint64_t> in_windows_;  // by counter: how often, all threads and windows
  std::vector<uint32_t> marks_;       // counters that are always on
  bool is_open_ = false, is_over_ = false;
  uint32_t windows_ = 0;  // that have ended
};

}  // namespace headway::agent
