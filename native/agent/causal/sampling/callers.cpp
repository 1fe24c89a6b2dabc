#include "agent/causal/sampling/callers.h"

#include <stdlib.h>

#include <algorithm>
#include <atomic>

#include "agent/causal/common/notes.h"
#include "agent/causal/sampling/lines.h"

namespace headway::agent::causal {
namespace {

constexpr uint64_t kLeastShare = 200;  // stacks, one of which a method has to be on

struct Sum {
  std::atomic<uint32_t> stacks{0};
  std::atomic<uint64_t> outer{0};  // frames in scope
};
// By lines.h's ids. Zeroed memory that nobody has touched takes none.
Sum* sums = nullptr;
std::atomic<uint64_t> stacks{0};

}  // namespace

void clear_callers() noexcept {
  if (sums == nullptr) sums = static_cast<Sum*>(calloc(kMostMethods + 1, sizeof(Sum)));
  if (sums == nullptr) abort();  // as any allocation that fails: no_exceptions.cpp
  for (const MethodName& each : method_names()) {
    sums[each.id].stacks = 0;
    sums[each.id].outer = 0;
  }
  stacks = 0;
}

void count_callers(std::span<const StackFrame> frames, std::span<uint32_t> seen) noexcept {
  size_t count = 0;
  for (size_t i = frames.size(); i-- > 0;) {
    const uint32_t method = method_of(frames[i].method);
    if (method == 0) continue;
    const auto end = seen.begin() + static_cast<ptrdiff_t>(count);
    if (std::find(seen.begin(), end, method) == end) {  // a recursion counts once, where it begins
      sums[method].stacks.fetch_add(1, std::memory_order_relaxed);
      sums[method].outer.fetch_add(count, std::memory_order_relaxed);
    }
    seen[count++] = method;
  }
  if (count != 0) stacks.fetch_add(1, std::memory_order_relaxed);
}

std::string callers_fields() noexcept {
  const uint64_t all = stacks.load(std::memory_order_relaxed);
  std::string rows;
  for (const MethodName& each : method_names()) {
    const uint32_t mine = sums[each.id].stacks.load(std::memory_order_relaxed);
    if (mine == 0 || mine * kLeastShare < all) continue;
    if (!rows.empty()) rows += ',';
    rows += '[' + json_text(each.class_name) + ',' + json_text(each.method) + ',' + std::to_string(mine) + ',' +
            std::to_string(sums[each.id].outer.load(std::memory_order_relaxed)) + ']';
  }
  return "\"samples\":" + std::to_string(all) + ",\"methods\":[" + rows + ']';
}

}  // namespace headway::agent::causal
