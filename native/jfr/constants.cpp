#include "jfr/constants.h"

#include <utility>

namespace headway::jfr {
namespace {

constexpr size_t kMostConstants = 8 << 20;  // of a chunk: two bytes of it are one, and each takes up to 150 in a pool

}  // namespace

void Pool::put(uint64_t index, const uint8_t* at, const uint8_t* end) {
  if (Constant* known = find(index); known != nullptr) {
    *known = {index, at, end};
    return;
  }
  if ((used_ + 1) * 3 > slots_.size() * 2) grow();
  size_t place = slot(index);
  while (slots_[place].at != nullptr) place = (place + 1) & (slots_.size() - 1);
  slots_[place] = {index, at, end};
  ++used_;
}

void Pool::grow() {
  std::vector<Constant> old(slots_.empty() ? 16 : slots_.size() * 2);
  old.swap(slots_);
  for (const Constant& each : old) {
    if (each.at == nullptr) continue;
    size_t place = slot(each.index);
    while (slots_[place].at != nullptr) place = (place + 1) & (slots_.size() - 1);
    slots_[place] = each;
  }
}

bool Constants::add(std::vector<uint8_t>&& event, int64_t* previous, std::string* problem) {
  const std::vector<uint8_t>& bytes = events_.emplace_back(std::move(event));
  Cursor in(bytes.data(), bytes.data() + bytes.size(), compressed_);
  in.integer(4);  // size
  in.integer(8);  // type
  in.integer(8);  // start
  in.integer(8);  // duration
  *previous = static_cast<int64_t>(in.integer(8));
  in.byte();  // what kind of checkpoint
  const size_t pools = in.count();
  for (size_t i = 0; i < pools && in.ok(); ++i) {
    const auto type = static_cast<int64_t>(in.integer(8));
    const size_t count = in.count();
    if (count == 0) continue;  // of as many types as the file likes to name
    const Steps* steps = layouts_->of(type);
    if (steps == nullptr) {
      *problem = "constants of type " + std::to_string(type) + ", which the metadata does not lay out";
      return false;
    }
    Pool& pool = pools_[type];
    if (count > kMostConstants - count_) {
      *problem = "more constants than " + std::to_string(kMostConstants) + " in a chunk";
      return false;
    }
    count_ += count;
    for (size_t k = 0; k < count && in.ok(); ++k) {
      const uint64_t index = in.integer(8);
      const uint8_t* at = in.at();
      skip(*steps, &in);
      if (in.ok()) pool.put(index, at, bytes.data() + bytes.size());
    }
  }
  if (!in.ok()) *problem = "constants that end in the middle of a value";
  return in.ok();
}

Pool* Constants::pool(int64_t type) {
  const auto found = pools_.find(type);
  return found == pools_.end() ? nullptr : &found->second;
}

Constant* Constants::find(int64_t type, uint64_t index) {
  Pool* of = pool(type);
  return of == nullptr ? nullptr : of->find(index);
}

}  // namespace headway::jfr
