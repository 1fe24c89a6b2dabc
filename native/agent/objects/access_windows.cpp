#include "agent/objects/access_windows.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <new>

namespace headway::agent {
namespace {

// Marks may be one in so many of all that is counted: so much is spent on counting between windows.
constexpr uint64_t kMostMarks = 100;
// Of fewer marks in a window, or in the spell before it, does not follow how much the thread did.
constexpr uint64_t kFewMarks = 30;
constexpr size_t kParts = WindowedThread::kAll + 6;

int64_t now_of(clockid_t clock) {
  timespec ts{};
  if (clock_gettime(clock, &ts) != 0) return -1;
  return static_cast<int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
}

// As in the kernel (CPUCLOCK_PERTHREAD_MASK, CPUCLOCK_SCHED): other threads can read it, too.
clockid_t cpu_clock_of_this_thread() {
  const auto tid = static_cast<uint32_t>(syscall(SYS_gettid));
  return static_cast<clockid_t>(~tid << 3 | 6U);
}

// Of what chance has the marks differ by, so much still counts as wrong: it can't be told from windows that are unlike their spells.
constexpr double kOfChance = 0.25;
constexpr double kMeanOfNormal = 0.7978845608;  // of the absolute value of a standard normal variable

// Of what is not negative. std::sqrt is in libm (see below). Four of Newton's steps from a guess within a tenth.
double root(double square) {
  if (square <= 0) return 0;
  constexpr uint64_t kHalfOfOne = std::bit_cast<uint64_t>(1.0) / 2;
  auto found = std::bit_cast<double>(std::bit_cast<uint64_t>(square) / 2 + kHalfOfOne);
  for (int step = 0; step < 4; ++step) found = (found + square / found) / 2;
  return found;
}

// Of what is not negative. std::llround is in libm, which the agent does without: it needs no library but libc.
int64_t rounded(double value) {
  const auto whole = static_cast<int64_t>(value);
  return value - static_cast<double>(whole) < 0.5 ? whole : whole + 1;
}

uint64_t read(const uint64_t* at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }

}  // namespace

// --- one thread ------------------------------------------------------------------------------------------------------

std::unique_ptr<WindowedThread> WindowedThread::make(size_t words) noexcept {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  const size_t bytes = words * kParts * sizeof(uint64_t);
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  madvise(at, bytes, MADV_NOHUGEPAGE);
  std::unique_ptr<WindowedThread> thread(new (std::nothrow) WindowedThread(static_cast<uint64_t*>(at), words));
  if (thread == nullptr) {
    munmap(at, bytes);
    return nullptr;
  }
  thread->clock_ = cpu_clock_of_this_thread();
  thread->cpu_ns_ = std::max<int64_t>(0, now_of(thread->clock_));
  return thread;
}

WindowedThread::~WindowedThread() { munmap(memory_, words_ * kParts * sizeof(uint64_t)); }

int64_t WindowedThread::cpu_since_edge() const noexcept {
  return std::max<int64_t>(0, now_of(clock_) - cpu_ns_);  // 0: the thread has ended
}

MarkCheck WindowedThread::check(size_t words_in_use) const noexcept {
  MarkCheck found;
  found.in = marks_in_;
  double wrong = 0, chance = 0;
  for (size_t word = 0; word < words_in_use; ++word) {
    const uint64_t times = passed()[word];
    found.passed += times;
    found.largest = std::max(found.largest, times);
    wrong += std::abs(static_cast<double>(times) - estimated()[word]);
    chance += kMeanOfNormal * root(this->chance()[word]);
  }
  const double beyond = root(wrong * wrong - chance * chance) + kOfChance * chance;
  found.wrong = static_cast<uint64_t>(rounded(std::min(wrong, beyond)));
  return found;
}

// --- all -------------------------------------------------------------------------------------------------------------

void AccessWindows::start(size_t counters) noexcept {
  in_windows_.assign(counters, 0);
  switches_.assign(counters, kOn);
  is_open_ = true;
}

void AccessWindows::switch_all(bool on) noexcept { std::ranges::fill(switches_, on ? kOn : kOff); }

// The rarest of what windows have seen.
void AccessWindows::choose_marks() noexcept {
  std::vector<uint32_t> seen;
  uint64_t all = 0;
  for (uint32_t counter = 0; counter < in_windows_.size(); ++counter) {
    if (in_windows_[counter] == 0) continue;
    seen.push_back(counter);
    all += in_windows_[counter];
  }
  std::ranges::sort(seen, {}, [this](uint32_t counter) { return in_windows_[counter]; });
  marks_.clear();
  uint64_t sum = 0;
  for (const uint32_t counter : seen) {
    sum += in_windows_[counter];
    if (sum > all / kMostMarks) break;
    marks_.push_back(counter);
  }
}

void AccessWindows::look(std::span<const Counting> all) noexcept {
  if (is_over_) return;
  for (const Counting& each : all) {
    for (const uint32_t mark : marks_) each.thread->spell()[mark] = read(&each.block[mark]);
    each.thread->cpu_to_spell_ns_ = each.thread->cpu_since_edge();
  }
}

void AccessWindows::take_gap(const Counting& counting, size_t in_use) noexcept {
  WindowedThread& thread = *counting.thread;
  thread.gap_ns_ = thread.cpu_since_edge();
  thread.spell_ns_ = std::max<int64_t>(0, thread.gap_ns_ - thread.cpu_to_spell_ns_);
  thread.cpu_ns_ += thread.gap_ns_;
  thread.cpu_to_spell_ns_ = 0;
  uint64_t* const before = thread.before();
  for (size_t word = 0; word < in_use; ++word) {
    const uint64_t now = read(&counting.block[word]);
    if (before[word] != now) before[word] = now;
  }
  // A thread that began within the spell has 0 where that began.
  for (const uint32_t mark : marks_) thread.spell()[mark] = before[mark] - thread.spell()[mark];
}

void AccessWindows::take_window(const Counting& counting, size_t in_use) noexcept {
  WindowedThread& thread = *counting.thread;
  uint64_t* const before = thread.before();
  uint64_t* const in_last = thread.in_last();
  uint64_t* const counted = thread.part(0);
  for (size_t word = 0; word < in_use; ++word) {
    const uint64_t since = read(&counting.block[word]) - before[word];
    if (in_last[word] != since) in_last[word] = since;
    if (since == 0) continue;
    before[word] += since;
    counted[word] += since;
    in_windows_[word] += since;
  }
  add_spell(thread, in_use);
  for (const uint32_t mark : marks_) thread.spell()[mark] = 0;  // what is no mark next time is none of the next spell
  thread.gap_ns_ = thread.spell_ns_ = 0;
}

// What the thread did in the spell before the window, by what it did in the window.
void AccessWindows::add_spell(WindowedThread& thread, size_t in_use) noexcept {
  WindowWork& work = thread.work_[group()];
  const int64_t in_ns = thread.cpu_since_edge();
  thread.cpu_ns_ += in_ns;
  work.in_ns += in_ns;
  work.between_ns += thread.gap_ns_;
  uint64_t in = 0, passed = 0;
  for (const uint32_t mark : marks_) {
    in += thread.in_last()[mark];
    passed += thread.spell()[mark];
  }
  if (windows_ == 0 || in < kFewMarks || passed < kFewMarks) {
    work.own_ns += in_ns;
    work.unseen_ns += thread.spell_ns_;
    return;
  }
  const double scale = static_cast<double>(passed) / static_cast<double>(in);
  uint64_t *const estimated = thread.part(group()), *const known = thread.part(WindowedThread::kKnown);
  for (size_t word = 0; word < in_use; ++word) {
    const uint64_t since = thread.in_last()[word];
    if (since == 0) continue;
    known[word] += since;
    estimated[word] += static_cast<uint64_t>(rounded(static_cast<double>(since) * scale));
  }
  thread.marks_in_ += in;
  work.before_ns += thread.spell_ns_;
  work.own_ns += rounded(static_cast<double>(thread.spell_ns_) / scale);
  for (const uint32_t mark : marks_) {
    thread.passed()[mark] += thread.spell()[mark];
    const auto in_window = static_cast<double>(thread.in_last()[mark]);
    thread.estimated()[mark] += in_window * scale;
    // That of the passes in the spell, and of the window's, times the scale; together all marks are as many as they are.
    thread.chance()[mark] += in_window * scale * (1 + scale) * (1 - in_window / static_cast<double>(in));
  }
}

void AccessWindows::begin_window(std::span<const Counting> all, size_t in_use) noexcept {
  if (is_open_ || is_over_) return;
  for (const Counting& each : all) take_gap(each, in_use);
  is_open_ = true;
}

void AccessWindows::open_window() noexcept {
  if (!is_over_) switch_all(true);
}

void AccessWindows::end_window(std::span<const Counting> all, size_t in_use) noexcept {
  if (is_over_) return;
  if (is_open_) {
    for (const Counting& each : all) take_window(each, in_use);
    is_open_ = false;
    ++windows_;
    choose_marks();
  }
  switch_all(false);  // also after a window that could not be opened: its switches are on
  for (const uint32_t mark : marks_) switches_[mark] = kOn;
}

void AccessWindows::end() noexcept {
  is_over_ = true;
  switch_all(false);
}

void AccessWindows::end_thread(const Counting& counting, size_t in_use) noexcept {
  if (is_open_) return take_window(counting, in_use);
  WindowedThread& thread = *counting.thread;
  const int64_t gap_ns = thread.cpu_since_edge();
  thread.cpu_ns_ += gap_ns;
  thread.work_[0].between_ns += gap_ns;
}

}  // namespace headway::agent
