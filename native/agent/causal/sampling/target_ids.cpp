#include "agent/causal/sampling/target_ids.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace headway::agent::causal {
namespace {

constinit std::atomic<uint32_t> the_method{0};
// Sorted; null: none. Replaced as a whole when more classes have come, and never freed: a handler may look at an older
// one.
constinit std::atomic<const std::vector<uint32_t>*> others{nullptr};

}  // namespace

uint32_t target_method() noexcept { return the_method.load(std::memory_order_relaxed); }

bool is_other_target(uint32_t id) noexcept {
  const std::vector<uint32_t>* const known = others.load(std::memory_order_acquire);
  return known != nullptr && std::ranges::binary_search(*known, id);
}

bool is_target_method(uint32_t method) noexcept {
  return method != 0 && (method == target_method() || is_other_target(method));
}

void set_target_method(uint32_t method) noexcept { the_method = method; }

uint32_t set_target_ids(const std::vector<uint32_t>& ids) {
  std::vector<uint32_t> more(ids.begin() + (ids.empty() ? 0 : 1), ids.end());
  std::ranges::sort(more);
  const std::vector<uint32_t>* const known = others.load(std::memory_order_acquire);
  const bool is_same = known == nullptr ? more.empty() : *known == more;
  if (!is_same) others.store(new std::vector<uint32_t>(std::move(more)), std::memory_order_release);
  return ids.empty() ? 0 : ids.front();
}

}  // namespace headway::agent::causal
