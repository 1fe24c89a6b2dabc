#include "counters/known_loop.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <span>

#include "counters/arithmetic.h"
#include "cpus/cpus.h"

namespace headway {
namespace {

constexpr size_t kBufferBytes = 64 << 20;
constexpr size_t kPageBytes = 4096;
constexpr size_t kTouchedPages = 256;
constexpr int kRounds = 400'000;
constexpr int kReads = 40'000;

// Fresh memory of small pages: a huge page would be one fault, and one entry of a translation buffer.
class Pages {
 public:
  explicit Pages(size_t bytes) : bytes_(bytes) {
    address_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (address_ == MAP_FAILED) {
      address_ = nullptr;
    } else {
      madvise(address_, bytes, MADV_NOHUGEPAGE);
    }
  }
  ~Pages() {
    if (address_ != nullptr) munmap(address_, bytes_);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;
  volatile char* data() const { return static_cast<volatile char*>(address_); }
  void touch() const {
    for (size_t at = 0; address_ != nullptr && at < bytes_; at += kPageBytes) data()[at] = 1;
  }

 private:
  size_t bytes_;
  void* address_;
};

void memory(const Pages& buffer) {
  if (buffer.data() == nullptr) return;
  uint64_t state = kRandomSeed;
  char sink = 0;
  for (int i = 0; i < kReads; ++i) {
    sink = static_cast<char>(sink + buffer.data()[next_random(state) % kBufferBytes]);
  }
  [[maybe_unused]] volatile const char kept = sink;
}

void sleep_often() {
  const timespec shortly{0, 50'000};
  for (int i = 0; i < 4; ++i) nanosleep(&shortly, nullptr);
}

void migrate() {
  const std::vector<int> allowed = allowed_cpus();
  for (size_t i = 0; i < allowed.size() && i < 2; ++i) bind_to_cpus(std::span(allowed).subspan(i, 1));
  bind_to_cpus(allowed);
}

void run_loop(uint32_t exercise, const Pages& buffer) {
  do_arithmetic(kRounds);
  if ((exercise & kMemory) != 0) memory(buffer);
  if ((exercise & kFaults) != 0) Pages(kTouchedPages * kPageBytes).touch();
  if ((exercise & kSleep) != 0) sleep_often();
  if ((exercise & kMigrate) != 0) migrate();
}

struct Open {
  std::vector<int> fds;
  ~Open() {
    for (const int fd : fds) close(fd);
  }
};

bool read_all(const Open& open, std::vector<EventTotals>* totals, std::vector<TriedEvent>* tried) {
  totals->resize(open.fds.size());
  for (size_t i = 0; i < open.fds.size(); ++i) {
    if (read_event(open.fds[i], &(*totals)[i])) continue;
    (*tried)[i].reason = errno;
    return false;
  }
  return true;
}

std::vector<TriedEvent> try_group(const CounterGroup& group, const Pages& buffer) {
  std::vector<TriedEvent> tried(group.size());
  for (TriedEvent& each : tried) each.reason = ECANCELED;
  Open open;
  uint32_t exercise = 0;
  for (size_t i = 0; i < group.size(); ++i) {
    const int fd = open_event(group[i], 0, -1, open.fds.empty() ? -1 : open.fds.front());
    if (fd < 0) {
      tried[i].reason = errno;
      return tried;
    }
    open.fds.push_back(fd);
    exercise |= group[i].exercise;
  }
  for (TriedEvent& each : tried) each.reason = 0;
  if (open.fds.empty() || !enable_group(open.fds.front())) {
    tried.front().reason = errno;
    return tried;
  }
  std::vector<EventTotals> before, between, after;
  if (!read_all(open, &before, &tried)) return tried;
  run_loop(exercise, buffer);
  if (!read_all(open, &between, &tried)) return tried;
  run_loop(exercise, buffer);
  if (!read_all(open, &after, &tried)) return tried;
  for (size_t i = 0; i < group.size(); ++i) {
    tried[i].first = between[i].value - before[i].value;
    tried[i].second = after[i].value - between[i].value;
    tried[i].enabled_ns = after[i].enabled_ns;
    tried[i].running_ns = after[i].running_ns;
  }
  return tried;
}

}  // namespace

std::vector<std::vector<TriedEvent>> try_groups(const std::vector<CounterGroup>& groups) {
  uint32_t exercise = 0;
  for (const CounterGroup& group : groups) {
    for (const CounterEvent& event : group) exercise |= event.exercise;
  }
  const Pages buffer((exercise & kMemory) != 0 ? kBufferBytes : kPageBytes);
  buffer.touch();
  run_loop(exercise & ~static_cast<uint32_t>(kMigrate), buffer);  // caches and predictors are then as in the readings
  std::vector<std::vector<TriedEvent>> all;
  all.reserve(groups.size());
  for (const CounterGroup& group : groups) all.push_back(try_group(group, buffer));
  return all;
}

}  // namespace headway
