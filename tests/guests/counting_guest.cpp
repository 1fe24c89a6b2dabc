// The first and only program of a guest that has counters (tests/support/drivers/arm_guest.py boots it): answers what the
// host asks on the serial line by what headway's own counting part (native/counters) finds there.
//
//   devices                    FILE PATH TEXT for each small file of the counting units in sysfs
//   try GROUPS                 what the known loop makes of them: errno,first,second,enabled_ns,running_ns of each event
//   try-stolen GROUPS          the same while others have all six counters for themselves
//   loop GROUPS TIMES ...      what each event counts over a loop of so many rounds, two instructions each
//   program GROUPS SEED PIECES what each event counts in each piece of a program that computes, calls the kernel and sleeps
//   offline GROUPS             what they count of CPU 1 while it is offline and comes back, and while this runs on it then
//   stolen GROUPS BEFORE MEANWHILE AFTER TIMES   as program, of pieces of a loop; meanwhile others have all six counters for themselves
//   suspend GROUPS TIMES       for how long the guest slept, ns, and what they count over it and over a loop afterwards
//   end                        powers the guest off
//
// GROUPS: events as TYPE:CONFIG:CONFIG1:CONFIG2:USER_ONLY:KERNEL_ONLY:EXERCISE by ',', groups by ';'. An answer ends with a line "ok".
#include <linux/perf_event.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "counters/cpu_counters.h"
#include "counters/known_loop.h"
#include "spool/collector_error.h"

namespace {

using headway::CounterEvent;
using headway::CounterGroup;
using headway::CpuCounters;
using headway::EventTotals;

// As many events are read in any recording: a program counts the same instructions however many it has.
constexpr size_t kReads = 16;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::vector<CounterGroup> parse_groups(const std::string& text) {
  std::vector<CounterGroup> groups;
  for (const std::string& part : split(text, ';')) {
    CounterGroup group;
    for (const std::string& each : split(part, ',')) {
      const std::vector<std::string> words = split(each, ':');
      CounterEvent event;
      event.name = each;
      event.type = static_cast<uint32_t>(strtoull(words.at(0).c_str(), nullptr, 0));
      event.config = strtoull(words.at(1).c_str(), nullptr, 0);
      event.config1 = strtoull(words.at(2).c_str(), nullptr, 0);
      event.config2 = strtoull(words.at(3).c_str(), nullptr, 0);
      event.user_only = words.at(4) == "1";
      event.kernel_only = words.at(5) == "1";
      event.exercise = static_cast<uint32_t>(strtoull(words.at(6).c_str(), nullptr, 0));
      group.push_back(event);
    }
    groups.push_back(group);
  }
  return groups;
}

// Two instructions a round, and nothing else.
__attribute__((noinline)) void rounds(uint64_t times) {
  asm volatile(
      "1: subs %0, %0, #1\n"
      "   b.ne 1b\n"
      : "+r"(times)
      :
      : "cc");
}

// Reads a fixed number of events, the first ones again where there are fewer.
class Readings {
 public:
  explicit Readings(const CpuCounters& counters) : counters_(counters) {
    for (size_t i = 0; i < kReads; ++i) places_.push_back(static_cast<uint32_t>(i % counters.counters()));
  }
  __attribute__((noinline)) void read(std::vector<EventTotals>* totals) const {
    for (size_t i = 0; i < kReads; ++i) counters_.totals(places_[i], 0, &(*totals)[i]);
  }

 private:
  const CpuCounters& counters_;
  std::vector<uint32_t> places_;
};

void list_devices() {
  namespace fs = std::filesystem;
  for (const auto& device : fs::directory_iterator("/sys/bus/event_source/devices")) {
    const std::string root = device.path().string();
    for (const char* below : {"", "/format", "/events"}) {
      if (!fs::exists(root + below)) continue;
      for (const auto& file : fs::directory_iterator(root + below)) {
        if (!file.is_regular_file() || file.path().filename() == "uevent") continue;
        std::string text;
        std::ifstream stream(file.path());
        std::getline(stream, text);
        printf("FILE %s%s/%s %s\n", device.path().filename().c_str(), below, file.path().filename().c_str(),
               text.c_str());
      }
    }
  }
}

void try_them(const std::vector<CounterGroup>& groups) {
  for (const auto& group : headway::try_groups(groups)) {
    for (const headway::TriedEvent& each : group) {
      printf("%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 " ", each.reason, each.first, each.second,
             each.enabled_ns, each.running_ns);
    }
    printf("\n");
  }
}

void print_between(const std::vector<EventTotals>& before, const std::vector<EventTotals>& after, uint32_t counters) {
  for (uint32_t i = 0; i < counters; ++i) {
    printf("%" PRIu64 ",%" PRIu64 ",%" PRIu64 " ", after[i].value - before[i].value,
           after[i].enabled_ns - before[i].enabled_ns, after[i].running_ns - before[i].running_ns);
  }
  printf("\n");
}

void count_loops(const std::vector<CounterGroup>& groups, const std::vector<std::string>& times) {
  const CpuCounters counters(groups, {0});
  const Readings readings(counters);
  std::vector<EventTotals> before(kReads), after(kReads);
  for (const std::string& each : times) {
    const uint64_t n = strtoull(each.c_str(), nullptr, 0);
    readings.read(&before);
    rounds(n);
    readings.read(&after);
    print_between(before, after, counters.counters());
  }
}

void set_online(const char* is_online) {
  std::ofstream file("/sys/devices/system/cpu/cpu1/online");
  file << is_online << std::flush;
  if (!file) throw headway::CollectorError("cpu", EIO, "CPU 1 does not go offline or come back");
}

void count_offline(const std::vector<CounterGroup>& groups) {
  const CpuCounters counters(groups, {1});
  const Readings readings(counters);
  std::vector<EventTotals> begun(kReads), back(kReads), ended(kReads);
  readings.read(&begun);
  set_online("0");
  set_online("1");
  cpu_set_t second;
  CPU_ZERO(&second);
  CPU_SET(1, &second);
  if (sched_setaffinity(0, sizeof second, &second) != 0) {
    throw headway::CollectorError("cpu", errno, "CPU 1 is not to run on");
  }
  readings.read(&back);
  rounds(1'000'000);
  readings.read(&ended);
  print_between(begun, back, counters.counters());
  print_between(back, ended, counters.counters());
}

uint64_t next_random(uint64_t& state) {
  state ^= state << 13;
  state ^= state >> 7;
  return state ^= state << 17;
}

uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

struct Piece {
  uint64_t start_ns = 0;
  std::vector<EventTotals> before, after;
};

void run_program(const std::vector<CounterGroup>& groups, uint64_t seed, size_t many) {
  const CpuCounters counters(groups, {0});
  const Readings readings(counters);
  std::vector<Piece> pieces(many);
  for (Piece& each : pieces) {
    each.before.resize(kReads);
    each.after.resize(kReads);
  }
  for (Piece& each : pieces) {
    // Up to four milliseconds, of which the kernel has none, half or most: rates change from piece to piece.
    const uint64_t share = next_random(seed) % 3, length = 100'000 + next_random(seed) % 2'000'000;
    const timespec sleep{0, static_cast<long>(next_random(seed) % 3 == 0 ? next_random(seed) % 3'000'000 : 0)};
    if (sleep.tv_nsec > 0) nanosleep(&sleep, nullptr);
    each.start_ns = now_ns();
    readings.read(&each.before);
    rounds(length / (share + 1));
    for (uint64_t i = 0; i < share * length / 1'000; ++i) syscall(SYS_getppid);
    readings.read(&each.after);
  }
  for (const Piece& each : pieces) {
    printf("%" PRIu64 " ", each.start_ns);
    print_between(each.before, each.after, counters.counters());
  }
}

// Takes the six counters, but that of cycles, as another tool does (perf stat -e r8:D): pinned events come before all others.
class Thief {
 public:
  Thief() {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_RAW;
    attr.config = 8;  // instructions
    attr.pinned = 1;
    for (int& fd : fds_) {
      fd = static_cast<int>(syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0));
      if (fd < 0) throw headway::CollectorError("thief", errno, "a pinned event does not open");
    }
  }
  ~Thief() {
    for (const int fd : fds_) close(fd);
    const timespec turns{0, 20'000'000};  // until the kernel has given the counters back
    nanosleep(&turns, nullptr);
  }
  Thief(const Thief&) = delete;
  Thief& operator=(const Thief&) = delete;

 private:
  int fds_[6] = {};
};

void count_stolen(const std::vector<CounterGroup>& groups, const std::vector<uint64_t>& pieces, uint64_t times) {
  const CpuCounters counters(groups, {0});
  const Readings readings(counters);
  std::vector<EventTotals> before(kReads), after(kReads);
  for (size_t part = 0; part < pieces.size(); ++part) {
    const std::unique_ptr<Thief> thief = part == 1 ? std::make_unique<Thief>() : nullptr;
    for (uint64_t i = 0; i < pieces[part]; ++i) {
      const uint64_t start_ns = now_ns();
      readings.read(&before);
      rounds(times);
      readings.read(&after);
      printf("%" PRIu64 " ", start_ns);
      print_between(before, after, counters.counters());
    }
  }
}

void write_to(const char* path, const char* text) {
  std::ofstream file(path);
  file << text << std::flush;
  if (!file) throw headway::CollectorError("suspend", EIO, path);
}

int64_t slept_ns() {
  timespec boot{}, monotonic{};
  clock_gettime(CLOCK_BOOTTIME, &boot);
  clock_gettime(CLOCK_MONOTONIC, &monotonic);
  return (boot.tv_sec - monotonic.tv_sec) * 1'000'000'000 + boot.tv_nsec - monotonic.tv_nsec;
}

void count_suspended(const std::vector<CounterGroup>& groups, uint64_t times) {
  const CpuCounters counters(groups, {0});
  const Readings readings(counters);
  std::vector<EventTotals> begun(kReads), awake(kReads), ended(kReads);
  const int64_t before_ns = slept_ns();
  readings.read(&begun);
  write_to("/sys/class/rtc/rtc0/wakealarm", "+3");
  write_to("/sys/power/state", "freeze");
  readings.read(&awake);
  const int64_t after_ns = slept_ns();
  rounds(times);
  readings.read(&ended);
  printf("%" PRId64 "\n", after_ns - before_ns);
  print_between(begun, awake, counters.counters());
  print_between(awake, ended, counters.counters());
}

void answer(const std::string& line) {
  const std::vector<std::string> words = split(line, ' ');
  if (words.empty()) return;
  if (words[0] == "devices") list_devices();
  if (words[0] == "try") try_them(parse_groups(words.at(1)));
  if (words[0] == "try-stolen") {
    const Thief thief;
    try_them(parse_groups(words.at(1)));
  }
  if (words[0] == "loop") count_loops(parse_groups(words.at(1)), {words.begin() + 2, words.end()});
  if (words[0] == "offline") count_offline(parse_groups(words.at(1)));
  if (words[0] == "suspend") count_suspended(parse_groups(words.at(1)), strtoull(words.at(2).c_str(), nullptr, 0));
  if (words[0] == "stolen") {
    std::vector<uint64_t> numbers;
    for (size_t i = 2; i < 6; ++i) numbers.push_back(strtoull(words.at(i).c_str(), nullptr, 0));
    count_stolen(parse_groups(words.at(1)), {numbers.begin(), numbers.end() - 1}, numbers.back());
  }
  if (words[0] == "program") {
    run_program(parse_groups(words.at(1)), strtoull(words.at(2).c_str(), nullptr, 0),
                strtoull(words.at(3).c_str(), nullptr, 0));
  }
}

// What the host writes comes back from no terminal, and line ends stay as they are.
void make_plain() {
  termios settings{};
  if (tcgetattr(0, &settings) != 0) return;
  cfmakeraw(&settings);
  tcsetattr(0, TCSANOW, &settings);
}

}  // namespace

int main() {
  mount("proc", "/proc", "proc", 0, nullptr);
  mount("sysfs", "/sys", "sysfs", 0, nullptr);
  make_plain();
  std::ofstream("/proc/sys/kernel/perf_event_paranoid") << "-1\n";
  printf("ready\n");
  fflush(stdout);
  for (std::string line; std::getline(std::cin, line) && line != "end";) {
    try {
      answer(line);
      printf("ok\n");
    } catch (const headway::CollectorError& error) {
      printf("refused %d %s\n", error.reason(), error.detail().c_str());
    }
    fflush(stdout);
  }
  reboot(RB_POWER_OFF);
  return 0;
}
