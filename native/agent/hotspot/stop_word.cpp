#include "agent/hotspot/stop_word.h"

#include <algorithm>
#include <array>
#include <vector>

#include "agent/hotspot/hotspot.h"

namespace headway::agent {
namespace {

constexpr uintptr_t kAtRest = ~uintptr_t{1};
constexpr uintptr_t kPage = 4096;
constexpr int kLeastVotes = 2;

struct Candidate {
  size_t at;  // in words
  uintptr_t page;
  int votes;
};

void vote(std::vector<Candidate>& candidates, size_t at, uintptr_t page) {
  const auto is_same = [&](const Candidate& one) { return one.at == at && one.page == page; };
  const auto found = std::ranges::find_if(candidates, is_same);
  if (found == candidates.end()) {
    candidates.push_back({at, page, 1});
  } else {
    ++found->votes;
  }
}

}  // namespace

// A thread that is to stop just now does not look so; and one that has ended may look like anything.
bool StopWord::find(std::span<const int64_t> threads) noexcept {
  std::vector<Candidate> candidates;
  std::array<uintptr_t, kBytes / sizeof(uintptr_t)> words;
  for (const int64_t thread : threads) {
    if (thread == 0 || !safe_read(reinterpret_cast<const void*>(thread), words.data(), kBytes)) continue;
    for (size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == kAtRest && words[i + 1] != 0 && words[i + 1] % kPage == 0) vote(candidates, i, words[i + 1]);
    }
  }
  std::erase_if(candidates, [](const Candidate& one) { return one.votes < kLeastVotes; });
  if (candidates.size() != 1) return false;
  offset_.store(static_cast<int64_t>(candidates.front().at * sizeof(uintptr_t)), std::memory_order_relaxed);
  return true;
}

const std::atomic<uintptr_t>* StopWord::of(int64_t thread) const noexcept {
  const int64_t offset = offset_.load(std::memory_order_relaxed);
  if (offset < 0 || thread == 0) return nullptr;
  return reinterpret_cast<const std::atomic<uintptr_t>*>(thread + offset);
}

}  // namespace headway::agent
