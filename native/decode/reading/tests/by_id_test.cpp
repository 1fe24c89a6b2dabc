// Ids as sound files have them, and as only a damaged or a malicious one has.
#include "decode/reading/by_id.h"

#include <map>
#include <random>

#include "testing/check.h"

namespace headway {
namespace {

void values_are_found_whatever_the_order_of_ids() {
  std::mt19937 random(1);
  ById<uint64_t> found;
  std::map<uint32_t, uint64_t> wanted;
  for (uint64_t value = 1; value <= 20'000; ++value) {
    const uint32_t id = random() % 8 == 0 ? static_cast<uint32_t>(random()) : static_cast<uint32_t>(random() % 30'000);
    found.at(id) = wanted[id] = value;
  }
  for (const auto& [id, value] : wanted) {
    CHECK(found.find(id) != nullptr);
    CHECK_EQUAL(*found.find(id), value);
  }
  size_t kept = 0;
  found.for_each([&](uint32_t, uint64_t value) { kept += value != 0 ? 1 : 0; });
  CHECK_EQUAL(kept, wanted.size());
}

void ids_that_double_take_no_more_room_than_others() {
  ById<uint64_t> found;
  uint32_t last = 0;
  for (uint64_t id = 256; id < 100'000'000; id = 2 * (id + 1) + 256) found.at(last = static_cast<uint32_t>(id)) = id;
  CHECK_EQUAL(*found.find(last), uint64_t{last});
  size_t places = 0;
  found.for_each([&](uint32_t, uint64_t) { ++places; });
  CHECK(places < 2000);
}

}  // namespace
}  // namespace headway

int main() {
  headway::values_are_found_whatever_the_order_of_ids();
  headway::ids_that_double_take_no_more_room_than_others();
}
