// Integers of a JFR file, against a decoder that takes a byte at a time; none may reach beyond its event.
#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "jfr/cursor.h"
#include "jfr/tests/jfr_bytes.h"

namespace headway::jfr {
namespace {

// The bytes used, 0 if there are not enough.
size_t by_bytes(const std::vector<uint8_t>& bytes, size_t end, uint64_t* value) {
  *value = 0;
  for (size_t i = 0; i < std::min<size_t>(end, 9); ++i) {
    const uint64_t byte = bytes[i];
    if (i == 8) {
      *value |= byte << 56;
      return 9;
    }
    *value |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) return i + 1;
  }
  return 0;
}

void an_integer_is_what_its_bytes_say_and_never_reaches_beyond_the_end() {
  std::mt19937_64 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> bytes(random() % 12);
    for (uint8_t& each : bytes) each = static_cast<uint8_t>(random());
    if (round % 2 == 0) {  // long ones
      for (uint8_t& each : bytes) each |= 0x80;
    }
    const size_t end = bytes.empty() ? 0 : random() % (bytes.size() + 1);
    uint64_t expected = 0;
    const size_t used = by_bytes(bytes, end, &expected);
    Cursor in(bytes.data(), bytes.data() + end, true, bytes.data() + bytes.size());
    const uint64_t found = in.varint();
    CHECK_EQUAL(in.ok(), used > 0);
    CHECK_EQUAL(found, used > 0 ? expected : 0);
    CHECK_EQUAL(in.left(), used > 0 ? end - used : 0);
    if (!in.ok()) CHECK_EQUAL(in.varint(), uint64_t{0});
  }
}

void passing_over_integers_leaves_off_where_reading_them_does() {
  std::mt19937_64 random(2);
  for (int round = 0; round < 5000; ++round) {
    std::vector<uint8_t> bytes(random() % 60);
    for (uint8_t& each : bytes) each = static_cast<uint8_t>(random() % 4 == 0 ? random() % 128 : random());
    const uint64_t count = random() % 20;
    Cursor read(bytes.data(), bytes.data() + bytes.size(), true);
    Cursor passed = read;
    for (uint64_t i = 0; i < count; ++i) read.varint();
    passed.skip_varints(count);
    CHECK_EQUAL(passed.ok(), read.ok());
    CHECK_EQUAL(passed.left(), read.left());
  }
}

// What the bytes of several integers are told by is those bytes: no more, no fewer, and nothing of what follows.
void the_bytes_of_integers_are_those_that_reading_them_takes() {
  std::mt19937_64 random(3);
  int taken = 0;
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> bytes(random() % 30);
    const uint64_t more = random() % 4;  // bytes in four that say that more come
    for (uint8_t& each : bytes) each = static_cast<uint8_t>(random() % 4 < more ? random() | 0x80 : random() & 0x7f);
    const size_t count = 1 + random() % 6;
    Cursor read(bytes.data(), bytes.data() + bytes.size(), true);
    Cursor raw = read;
    for (size_t i = 0; i < count; ++i) read.varint();
    const size_t used = bytes.size() - read.left();
    std::array<uint64_t, 2> found{};
    if (!raw.raw_varints(count, &found)) {
      CHECK_EQUAL(raw.left(), bytes.size());
      continue;
    }
    ++taken;
    CHECK_EQUAL(read.ok(), true);
    CHECK_EQUAL(raw.left(), read.left());
    std::array<uint64_t, 2> expected{};
    for (size_t i = 0; i < used; ++i) expected[i / 8] |= static_cast<uint64_t>(bytes[i]) << (8 * (i % 8));
    CHECK_EQUAL(found == expected, true);
  }
  CHECK_EQUAL(taken > 2000, true);
}

}  // namespace
}  // namespace headway::jfr

int main() {
  headway::jfr::the_bytes_of_integers_are_those_that_reading_them_takes();
  headway::jfr::passing_over_integers_leaves_off_where_reading_them_does();
  headway::jfr::an_integer_is_what_its_bytes_say_and_never_reaches_beyond_the_end();
  return 0;
}
