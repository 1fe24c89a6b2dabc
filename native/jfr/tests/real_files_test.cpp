// Files that real JVMs and async-profiler wrote, cut off and with wrong bits: no crash, no hang, and no more read than
// there was. Meant for the sanitizers.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "jfr/tests/jfr_bytes.h"

namespace headway::jfr {
namespace {

constexpr int kCuts = 12;
constexpr int kFlips = 40;

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void it_is_read_whole_in_parts_and_damaged(const std::string& whole) {
  TestFile file(whole);
  const Found all = read_all(file.path());
  CHECK_EQUAL(all.refused, "");
  CHECK_EQUAL(all.problems, 0U);
  CHECK(all.rows > 10);
  for (int i = 1; i < kCuts; ++i) {
    file.write(whole.substr(0, whole.size() * static_cast<size_t>(i) / kCuts));
    const Found found = read_all(file.path());
    CHECK(found.problems > 0);
    CHECK(found.rows <= all.rows);
  }
  std::mt19937 random(11);
  for (int i = 0; i < kFlips; ++i) {
    std::string bytes = whole;
    for (unsigned n = 1U << (i % 8); n > 0; --n) {
      char& damaged = bytes[random() % bytes.size()];
      damaged = static_cast<char>(damaged ^ (1 << (random() % 8)));
    }
    file.write(bytes);
    read_all(file.path());
  }
}

}  // namespace
}  // namespace headway::jfr

int main(int, char** arguments) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(arguments[1])) {
    headway::jfr::it_is_read_whole_in_parts_and_damaged(headway::jfr::bytes_of(entry.path()));
    ++files;
  }
  CHECK_EQUAL(files, 4);
}
