#include "agent/core/id_table.h"

#include <algorithm>
#include <cstring>

namespace headway::agent {
namespace {

constexpr uint64_t kIdBits = kMaxTableId;

uint64_t word_of(uint64_t hash, uint32_t id) { return (hash & ~kIdBits) | id; }
bool is_of(uint64_t word, uint64_t hash) { return word != 0 && ((word ^ hash) & ~kIdBits) == 0; }
uint32_t id_of(uint64_t word) { return static_cast<uint32_t>(word & kIdBits); }

// Words are whole in themselves: who finds an id needs to see nothing else that its finder wrote.
template <typename Words>
void clear_words(Words& words) {
  for (auto& word : words) {
    if (word.load(std::memory_order_relaxed) != 0) word.store(0, std::memory_order_relaxed);
  }
}

}  // namespace

uint64_t mix(uint64_t hash, std::string_view text) noexcept {
  hash = mix(hash, text.size());
  for (; !text.empty(); text.remove_prefix(std::min<size_t>(text.size(), 8))) {
    uint64_t word = 0;
    std::memcpy(&word, text.data(), std::min<size_t>(text.size(), 8));
    hash = mix(hash, word);
  }
  return hash;
}

uint32_t IdCache::find(uint64_t hash) const noexcept {
  for (size_t i = 0; i < kWindow; ++i) {
    const uint64_t word = words_[(hash + i) % kPlaces].load(std::memory_order_relaxed);
    if (is_of(word, hash)) return id_of(word);
    if (word == 0) return 0;
  }
  return 0;
}

void IdCache::put(uint64_t hash, uint32_t id) noexcept {
  size_t place = (hash + (hash >> 32) % kWindow) % kPlaces;  // whose turn it is to go when the window is full
  for (size_t i = 0; i < kWindow; ++i) {
    const uint64_t word = words_[(hash + i) % kPlaces].load(std::memory_order_relaxed);
    if (word == 0 || is_of(word, hash)) {
      place = (hash + i) % kPlaces;
      break;
    }
  }
  words_[place].store(word_of(hash, id), std::memory_order_relaxed);
}

void IdCache::clear() noexcept { clear_words(words_); }

uint32_t IdTable::find(uint64_t hash) const noexcept {
  size_t first = 0;
  for (const size_t places : kTiers) {
    for (size_t i = 0; i < kWindow; ++i) {
      const uint64_t word = words_[first + (hash + i) % places].load(std::memory_order_relaxed);
      if (is_of(word, hash)) return id_of(word);
      if (word == 0) return 0;  // it would be here: entries are never taken out
    }
    first += places;
  }
  return 0;
}

uint32_t IdTable::put(uint64_t hash, uint32_t id) noexcept {
  size_t first = 0;
  for (const size_t places : kTiers) {
    for (size_t i = 0; i < kWindow; ++i) {
      auto& word = words_[first + (hash + i) % places];
      uint64_t seen = word.load(std::memory_order_relaxed);
      if (seen == 0 && word.compare_exchange_strong(seen, word_of(hash, id), std::memory_order_relaxed)) return id;
      if (is_of(seen, hash)) return id_of(seen);
    }
    first += places;
  }
  return 0;
}

void IdTable::clear() noexcept { clear_words(words_); }

IdNumbers::Number IdNumbers::of(uint64_t hash) noexcept {
  if (const uint32_t known = ids_.find(hash)) return {known, false};
  if (last_.load(std::memory_order_relaxed) >= kMostIds) return {};
  const uint32_t id = last_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (id > kMostIds) {
    last_.store(kMostIds, std::memory_order_relaxed);
    return {};
  }
  const uint32_t kept = ids_.put(hash, id);
  return {kept, kept == id};
}

void IdNumbers::clear() noexcept {
  ids_.clear();
  last_ = 0;
}

}  // namespace headway::agent
