#include "agent/objects/access_windows.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <numeric>

namespace headway::agent {
namespace {

// Marks may be one in so many of all that is counted: so much is spent on counting between windows.
constexpr uint64_t kMostMarks = 100;
constexpr size_t kParts = WindowedThread::kAll + 2;

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

uint64_t read(const uint64_t* at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }

}  // namespace

// --- one thread ------------------------------------------------------------------------------------------------------

std::unique_ptr<WindowedThread> WindowedThread::make(size_t words) noexcept {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  const size_t bytes = words * kParts * sizeof(uint64_t);
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  madvise(at, bytes, MADV_NOHUGEPAGE);
  std::unique_ptr<WindowedThread> made(new (std::nothrow) WindowedThread(static_cast<uint64_t*>(at), words));
  if (made == nullptr) {
    munmap(at, bytes);
    return nullptr;
  }
  made->clock_ = cpu_clock_of_this_thread();
  made->cpu_ns_ = std::max<int64_t>(0, now_of(made->clock_));
  return made;
}

WindowedThread::~WindowedThread() { munmap(memory_, words_ * kParts * sizeof(uint64_t)); }

int64_t WindowedThread::cpu_since_edge() noexcept {
  const int64_t now_ns = now_of(clock_);
  if (now_ns < cpu_ns_) return 0;  // the thread has ended
  const int64_t since_ns = now_ns - cpu_ns_;
  cpu_ns_ = now_ns;
  return since_ns;
}

// --- all -------------------------------------------------------------------------------------------------------------

bool AccessWindows::start(const Layout& layout) noexcept {
  layout_ = layout;
  in_windows_.assign(layout.counters + layout.rows, 0);
  switches_.assign(layout.counters + layout.rows, kOn);
  is_open_ = true;
  return true;
}

template <typename Visit>
void AccessWindows::for_each_word(uint32_t place, Visit visit) const {
  if (place < layout_.counters) return visit(size_t{place});
  const size_t first = layout_.counters + (place - layout_.counters) * layout_.row_words;
  for (size_t word = first; word < first + layout_.row_words; ++word) visit(word);
}

std::optional<uint32_t> AccessWindows::place_of(size_t word) const noexcept {
  if (word < layout_.counters) return static_cast<uint32_t>(word);
  const size_t row = (word - layout_.counters) / layout_.row_words;
  return row < layout_.rows ? std::optional(static_cast<uint32_t>(layout_.counters + row)) : std::nullopt;
}

void AccessWindows::switch_all(bool on) noexcept { std::ranges::fill(switches_, on ? kOn : kOff); }

uint64_t AccessWindows::marks_of(const uint64_t* words) const noexcept {
  uint64_t sum = 0;
  for (const uint32_t mark : marks_) for_each_word(mark, [&](size_t word) { sum += words[word]; });
  return sum;
}

uint64_t AccessWindows::marks_since_edge(const Counting& counting) const noexcept {
  const uint64_t* const before = counting.thread->before();
  uint64_t sum = 0;
  for (const uint32_t mark : marks_) {
    for_each_word(mark, [&](size_t word) { sum += read(&counting.block[word]) - before[word]; });
  }
  return sum;
}

// The rarest of what windows have seen.
void AccessWindows::choose_marks() noexcept {
  std::vector<uint32_t> seen;
  uint64_t all = 0;
  for (uint32_t place = 0; place < in_windows_.size(); ++place) {
    if (in_windows_[place] == 0) continue;
    seen.push_back(place);
    all += in_windows_[place];
  }
  std::ranges::sort(seen, {}, [this](uint32_t place) { return in_windows_[place]; });
  marks_.clear();
  uint64_t sum = 0;
  for (const uint32_t place : seen) {
    sum += in_windows_[place];
    if (sum > all / kMostMarks) break;
    marks_.push_back(place);
  }
}

void AccessWindows::take_window(const Counting& counting, std::span<const Words> in_use) noexcept {
  WindowedThread& thread = *counting.thread;
  const uint64_t* const before = thread.before();
  uint64_t* const in_last = thread.in_last();
  for (const Words& range : in_use) {
    for (size_t word = range.first; word < range.first + range.count; ++word) {
      const uint64_t since = read(&counting.block[word]) - before[word];
      if (in_last[word] != since) in_last[word] = since;
    }
  }
  thread.last_group_ = group();
  thread.last_marks_ = marks_of(in_last);
  WindowWork& work = thread.work_[group()];
  work.marks_in += thread.last_marks_;
  work.cpu_in_ns += thread.cpu_since_edge();
  work.marks_between += thread.gap_.marks_between;
  work.marks_before += thread.gap_.marks_before;
  work.cpu_between_ns += thread.gap_.cpu_between_ns;
  const bool is_known = windows_ > 0 && thread.last_marks_ > 0;
  if (is_known) {
    thread.slower_ = static_cast<double>(thread.gap_.marks_before) / static_cast<double>(thread.last_marks_);
  }
  add_window(thread, in_use);
  thread.gap_ = {};
}

void AccessWindows::add_window(WindowedThread& thread, std::span<const Words> in_use) noexcept {
  uint64_t* const counted = thread.part(0);
  uint64_t* const speeds = thread.part(group());
  for (const Words& range : in_use) {
    for (size_t word = range.first; word < range.first + range.count; ++word) {
      const uint64_t since = thread.in_last()[word];
      if (since == 0) continue;
      thread.before()[word] += since;
      counted[word] += since;
      if (windows_ > 0) {
        speeds[word] += static_cast<uint64_t>(std::llround(static_cast<double>(since) * thread.slower_));
      }
      if (const auto place = place_of(word)) in_windows_[*place] += since;
    }
  }
}

void AccessWindows::look(std::span<const Counting> all) noexcept {
  for (const Counting& each : all) each.thread->marks_at_look_ = marks_since_edge(each);
}

void AccessWindows::take_gap(const Counting& counting, std::span<const Words> in_use) noexcept {
  WindowedThread& thread = *counting.thread;
  const uint64_t marks = marks_since_edge(counting);
  thread.gap_.marks_between += marks;
  thread.gap_.marks_before = marks - std::min(marks, thread.marks_at_look_);
  thread.marks_at_look_ = 0;
  thread.gap_.cpu_between_ns += thread.cpu_since_edge();
  uint64_t* const before = thread.before();
  for (const Words& range : in_use) {
    for (size_t word = range.first; word < range.first + range.count; ++word) {
      const uint64_t now = read(&counting.block[word]);
      if (before[word] != now) before[word] = now;
    }
  }
}

void AccessWindows::begin_window(std::span<const Counting> all, std::span<const Words> in_use) noexcept {
  if (is_open_) return;
  for (const Counting& each : all) take_gap(each, in_use);
  is_open_ = true;
}

void AccessWindows::end_window(std::span<const Counting> all, std::span<const Words> in_use) noexcept {
  if (!is_open_) return;
  for (const Counting& each : all) take_window(each, in_use);
  is_open_ = false;
  ++windows_;
  choose_marks();
  for (const Counting& each : all) each.thread->next_marks_ = marks_of(each.thread->in_last());
  switch_all(false);
  for (const uint32_t mark : marks_) switches_[mark] = kOn;
}

void AccessWindows::end_thread(const Counting& counting, std::span<const Words> in_use) noexcept {
  if (is_open_) return take_window(counting, in_use);
  take_gap(counting, in_use);
  WindowedThread& thread = *counting.thread;
  WindowWork& work = thread.work_[thread.last_group_];
  work.cpu_between_ns += thread.gap_.cpu_between_ns;
  // The marks are others than those before the last window: as many as would have been passed of those.
  const uint64_t marks = thread.gap_.marks_between;
  const bool is_first = thread.last_group_ == 0;
  if (is_first) work.marks_in = thread.next_marks_;
  const bool is_known = !is_first && thread.next_marks_ > 0;
  const double scale = is_known ? static_cast<double>(thread.last_marks_) / static_cast<double>(thread.next_marks_) : 1;
  work.marks_between += static_cast<uint64_t>(static_cast<double>(marks) * scale);
  thread.gap_ = {};
}

}  // namespace headway::agent
