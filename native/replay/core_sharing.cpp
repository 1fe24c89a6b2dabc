#include "replay/core_sharing.h"

#include <algorithm>

namespace headway {

void CoreSharing::add(size_t group, uint32_t thread, double work_ns) {
  Group& its = groups_[group];
  its.ready.push({its.clock + work_ns, order_++, thread});
  if (!its.is_stopped) ++ready_;
}

void CoreSharing::stop(size_t group) {
  Group& its = groups_[group];
  if (!its.is_stopped) ready_ -= its.ready.size();
  its.is_stopped = true;
}

void CoreSharing::let_go(size_t group) {
  Group& its = groups_[group];
  if (its.is_stopped) ready_ += its.ready.size();
  its.is_stopped = false;
}

void CoreSharing::remove_all(size_t group) {
  stop(group);
  groups_[group].ready = {};
}

const CoreSharing::Group* CoreSharing::first() const {
  const Group* found = nullptr;
  for (const Group& group : groups_) {
    if (group.is_stopped || group.ready.empty()) continue;
    if (found == nullptr || group.ready.top().end - group.clock < found->ready.top().end - found->clock) found = &group;
  }
  return found;
}

double CoreSharing::speed() const {
  const auto ready = static_cast<double>(ready_);
  const double whole = cores_ / pairs_.per_core;
  if (ready <= whole) return 1.0;
  const double more = pairs_.per_core > 1 ? (pairs_.throughput - 1) / (pairs_.per_core - 1) : 0.0;
  return (whole + (std::min(ready, cores_) - whole) * more) / ready;
}

double CoreSharing::next_ns() const {
  const Group* next = first();
  return next == nullptr ? -1.0 : std::max(next->ready.top().end - next->clock, 0.0) / speed();
}

void CoreSharing::advance(double ns) {
  const double done = ns * speed();
  for (Group& group : groups_) {
    if (!group.is_stopped) group.clock += done;
  }
}

uint32_t CoreSharing::take() {
  auto* next = const_cast<Group*>(first());
  const Entry entry = next->ready.top();
  next->clock = std::max(next->clock, entry.end);  // rounding
  next->ready.pop();
  --ready_;
  return entry.thread;
}

}  // namespace headway
