#include "agent/objects/node_samples.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <span>

namespace headway::agent {
namespace {

// The node of the CPU on which the calling thread runs.
uint16_t node_here() {
  unsigned cpu = 0, node = HW_UNKNOWN_NODE;
  return syscall(SYS_getcpu, &cpu, &node, nullptr) == 0 ? static_cast<uint16_t>(node) : HW_UNKNOWN_NODE;
}

// The nodes of the pages that addresses are on; HW_UNKNOWN_NODE: not there, or on its way. False: the kernel does not say.
bool nodes_of(std::span<const uint64_t> addresses, std::span<uint16_t> nodes) {
  std::array<void*, 2> pages{};
  std::array<int, 2> states{};
  for (size_t i = 0; i < addresses.size(); ++i) pages[i] = reinterpret_cast<void*>(addresses[i]);
  const long answer = syscall(SYS_move_pages, 0, addresses.size(), pages.data(), nullptr, states.data(), 0);
  for (size_t i = 0; i < nodes.size(); ++i) {
    nodes[i] = answer == 0 && states[i] >= 0 ? static_cast<uint16_t>(states[i]) : HW_UNKNOWN_NODE;
  }
  return answer == 0;
}

}  // namespace

void NodeSamples::note(Thread& thread, const Access& access) noexcept {
  const uint16_t cpu_node = node_here();
  const std::array<uint64_t, 2> addresses{access.address, thread.open.address};
  std::array<uint16_t, 2> nodes{HW_UNKNOWN_NODE, HW_UNKNOWN_NODE};
  const size_t asked = thread.has_open ? 2 : 1;
  const bool is_answered = nodes_of(std::span(addresses).first(asked), std::span(nodes).first(asked));
  if (!is_answered) refused_.fetch_add(1, std::memory_order_relaxed);
  if (thread.has_open) add(thread.open, thread.open_cpu_node, nodes[1]);
  thread.has_open = is_answered && nodes[0] == HW_UNKNOWN_NODE;
  if (thread.has_open) {
    thread.open = access;
    thread.open_cpu_node = cpu_node;
  } else {
    add(access, cpu_node, nodes[0]);
  }
}

void NodeSamples::end_thread(Thread& thread) noexcept {
  if (thread.has_open) add(thread.open, thread.open_cpu_node, HW_UNKNOWN_NODE);
  thread.has_open = false;
}

void NodeSamples::add(const Access& access, uint16_t cpu_node, uint16_t page_node) noexcept {
  constexpr std::array<uint16_t, kOwnerRules> kOfRule = {HW_ACCESS_NODE_PAIR, HW_ACCESS_NODE_WRITER_PAIR};
  const std::lock_guard locked(mutex_);
  add_to({HW_ACCESS_NODES, access.java_id, access.class_id, access.kind, cpu_node, page_node}, access);
  for (size_t rule = 0; rule < kOwnerRules; ++rule) {
    if (!rules_.has(rule)) continue;
    add_to({kOfRule[rule], access.java_id, access.owners[rule], access.kind, cpu_node, page_node}, access);
  }
}

// Where there is no room for a row of its own, a thread's sample is one of many threads.
void NodeSamples::add_to(Key key, const Access& access) noexcept {
  if (sums_.size() >= kMostRows && !sums_.contains(key)) std::get<1>(key) = HW_MANY_THREADS;
  if (sums_.size() >= kFullRows && !sums_.contains(key)) {
    left_out_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  Sums& sums = sums_[key];
  ++sums.samples;
  sums.accesses += access.accesses;
}

hw_access_nodes NodeSamples::record_of(const Key& key, const Sums& sums) noexcept {
  hw_access_nodes record{};
  std::tie(record.head.type, record.java_id, record.of, record.kind, record.cpu_node, record.page_node) = key;
  record.samples = sums.samples;
  record.accesses = sums.accesses;
  return record;
}

}  // namespace headway::agent
