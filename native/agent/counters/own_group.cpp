#include "agent/counters/own_group.h"

#include <linux/perf_event.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <utility>
#include <vector>

#include "agent/core/clock.h"
#include "counters/arithmetic.h"
#include "counters/event_names.h"
#include "counters/known_loop.h"
#include "cpus/cpus.h"

namespace headway::agent {
namespace {

constexpr int kMostDescriptors = 512;  // of the program's own limit, which is often 1024
constexpr int kRounds = 20'000;
constexpr uint64_t kReadsApartNs = 20'000;
std::atomic<int> descriptors{0};

int open_one(const CounterEvent& event, pid_t pid, int cpu, int leader, Reading reading) {
  if (descriptors.fetch_add(1) >= kMostDescriptors) {
    descriptors.fetch_sub(1);
    errno = EMFILE;
    return -1;
  }
  const int fd = open_event(event, pid, cpu, leader, reading);
  if (fd < 0) descriptors.fetch_sub(1);
  return fd;
}

void close_one(int fd) {
  close(fd);
  descriptors.fetch_sub(1);
}

std::string reason_of(const CounterEvent& event, int error) {
  std::string reason = "event " + event.name + ": ";
  if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV) return reason + "not counted on this machine";
  if (error == EACCES || error == EPERM) return reason + "not allowed (kernel.perf_event_paranoid, or seccomp)";
  if (error == EINVAL) return reason + "not together with the others of its group, or not in this scope";
  if (error == EMFILE) return reason + "too many descriptors";
  return reason + strerror(error);
}

}  // namespace

bool named_event(std::string_view name, CounterEvent* event) {
  event->name = name;
  const std::string_view mode = name.size() > 2 ? name.substr(name.size() - 2) : std::string_view();
  event->user_only = mode == ":u";
  event->kernel_only = mode == ":k";
  if (event->user_only || event->kernel_only) name.remove_suffix(2);
  const auto* const found = std::find_if(std::begin(kNamedEvents), std::end(kNamedEvents),
                                         [name](const NamedEvent& each) { return each.name == name; });
  if (found != std::end(kNamedEvents)) {
    event->type = found->type;
    event->config = found->config;
    event->exercise = found->exercise;
    return true;
  }
  if (name.size() < 2 || name.size() > 17 || name[0] != 'r') return false;
  event->type = PERF_TYPE_RAW;
  const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), event->config, 16);
  return error == std::errc() && end == name.data() + name.size();
}

int OwnGroup::open_at(const CounterGroup& events, pid_t pid, int cpu, size_t* failed) {
  Place& place = places_.emplace_back();
  place.last.resize(2 + events.size());
  place.is_of_cpu = pid < 0;
  for (const CounterEvent& event : events) {
    *failed = place.fds.size();
    const int fd = open_one(event, pid, cpu, place.fds.empty() ? -1 : place.fds.front(), Reading::kWholeGroup);
    if (fd < 0) return errno;
    place.fds.push_back(fd);
  }
  if (pid == 0 && cpu != kAnyCpu) {
    CounterEvent presence;
    presence.type = PERF_TYPE_SOFTWARE;
    presence.config = PERF_COUNT_SW_DUMMY;
    place.presence = open_one(presence, pid, cpu, -1, Reading::kOneEvent);
    if (place.presence < 0 || !enable_group(place.presence)) return errno;
  }
  return enable_group(place.fds.front()) ? 0 : errno;
}

std::unique_ptr<OwnGroup> OwnGroup::open(const CounterGroup& events, bool is_of_thread, int cpu, std::string* reason) {
  std::unique_ptr<OwnGroup> group(new OwnGroup(events.size()));
  const bool is_of_all = !is_of_thread && cpu == kAnyCpu;
  for (const int each : is_of_all ? online_cpus() : std::vector<int>{cpu}) {
    size_t failed = 0;
    const int error = group->open_at(events, is_of_thread ? 0 : -1, each, &failed);
    if (error == ENODEV && is_of_all && failed == 0) {  // offline by now
      close_place(group->places_.back());
      group->places_.pop_back();
    } else if (error != 0) {
      *reason = reason_of(events[failed], error);
      return nullptr;
    }
  }
  if (group->places_.empty()) {
    *reason = reason_of(events.front(), ENODEV);
    return nullptr;
  }
  do_arithmetic(kRounds);  // what it makes count must have counted: virtual machines offer events that read zero
  int64_t counts[kMostEventsOfGroup];
  group->read_and_reset(counts);
  for (size_t i = 0; is_of_thread && cpu == kAnyCpu && i < events.size(); ++i) {
    if (events[i].exercise == kArithmetic && counts[i] == 0 && !events[i].kernel_only) {
      *reason = "event " + events[i].name + ": reads zero here, whatever runs";
      return nullptr;
    }
  }
  return group;
}

void OwnGroup::close_place(const Place& place) {
  // Members first: a group whose leader goes counts on, each for itself.
  std::for_each(place.fds.rbegin(), place.fds.rend(), close_one);
  if (place.presence >= 0) close_one(place.presence);
}

OwnGroup::~OwnGroup() {
  for (const Place& place : places_) close_place(place);
}

bool OwnGroup::read_words(const Place& place, uint64_t* words) const {
  uint64_t raw[3 + kMostEventsOfGroup];  // how many, enabled, running, then the counts
  const auto bytes = static_cast<ssize_t>((3 + events_) * sizeof(uint64_t));
  if (read(place.fds.front(), raw, sizeof raw) != bytes) return false;
  std::copy(raw + 1, raw + 3 + events_, words);
  if (place.presence < 0) return true;
  EventTotals presence;
  if (!read_event(place.presence, &presence)) return false;
  words[0] = presence.running_ns;
  return true;
}

bool OwnGroup::read_place(Place* place, int64_t* counts) const {
  uint64_t words[2 + kMostEventsOfGroup];
  const int64_t begin_ns = monotonic_ns();
  if (!read_words(*place, words)) return false;
  uint64_t to_count_ns = words[0] - place->last[0];
  const uint64_t counted_ns = words[1] - place->last[1];
  // The thread's presence is read after the counts, each time a little later or sooner.
  if (place->presence >= 0 && to_count_ns < counted_ns + kReadsApartNs) to_count_ns = counted_ns;
  const bool is_part = to_count_ns > counted_ns && counted_ns > 0;
  for (size_t i = 0; i < events_; ++i) {
    const uint64_t counted = words[2 + i] - place->last[2 + i];
    const auto scaled = static_cast<unsigned __int128>(counted) * to_count_ns + counted_ns / 2;
    counts[i] += static_cast<int64_t>(is_part ? scaled / counted_ns : counted);
  }
  std::copy(words, words + 2 + events_, place->last.begin());
  if (!place->is_of_cpu) return counted_ns > 0 || to_count_ns == 0;
  // What counts on a CPU stands still once that was offline, its time to count with it. The reading lies outside of the time
  // between this one's begin and the last one's end; the two clocks differ by less than a thousandth.
  const int64_t last_ns = std::exchange(place->last_read_ns, monotonic_ns());
  const int64_t between_ns = last_ns == 0 ? 0 : begin_ns - last_ns;
  return counted_ns > 0 && static_cast<int64_t>(to_count_ns) >= between_ns - between_ns / 1000;
}

void OwnGroup::read_and_reset(int64_t* counts) {
  std::fill(counts, counts + events_, int64_t{0});
  bool is_known = true;
  for (Place& place : places_) is_known = read_place(&place, counts) && is_known;
  if (!is_known) std::fill(counts, counts + events_, kUnknownCount);
}

}  // namespace headway::agent
