// Instruments every method at every line, or counts its accesses, for the JVM's verifier to judge:
//   insert_everywhere IN OUT HOOK calls|accesses|owners|lines|nodes    class files below IN, changed, into OUT; HOOK: "headway/test/Hook"
// Prints: classes, classes changed, methods refused for want of room.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

#include "agent/classfile/class_accesses.h"
#include "agent/classfile/class_insert.h"
#include "testing/check.h"

using namespace headway::agent;
namespace fs = std::filesystem;

namespace {

constexpr Insert kEverywhere[] = {
    {InsertAt::kEntry, Call::kHit, 1, {}, {}, 0},      {InsertAt::kEntry, Call::kTimed, 32767, {}, {}, 0},
    {InsertAt::kStretch, Call::kHit, 300, {}, {}, 0},  {InsertAt::kStretch, Call::kTimed, 2, {}, {}, 0},
    {InsertAt::kRelease, Call::kSettle, 0, {}, {}, 0}, {InsertAt::kEntry, Call::kSettle, 0, {}, {}, 0, true, true},
};

std::vector<uint8_t> read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  CHECK(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

Insertion changed_class(const std::vector<uint8_t>& bytes, std::string_view what, std::string_view hook) {
  if (what == "calls") return insert_calls(bytes, kEverywhere, hook);
  AccessNumbers numbers{.first_counter = -32768};
  if (what == "owners") numbers.first_row = -32768;
  if (what == "lines") numbers.first_place = -32767;
  if (what == "nodes") numbers.first_node_row = -32768;
  CountedClass counted = count_accesses(bytes, hook, numbers);
  return {counted.outcome, std::move(counted.bytes), {}, counted.methods_left_out};
}

}  // namespace

int main(int count, char** arguments) {
  CHECK_EQUAL(count, 5);
  const fs::path from = arguments[1];
  const fs::path to = arguments[2];
  size_t classes = 0;
  size_t changed = 0;
  size_t refused = 0;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(from)) {
    if (entry.path().extension() != ".class") continue;
    std::vector<uint8_t> bytes = read(entry.path());
    const Insertion insertion = changed_class(bytes, arguments[4], arguments[3]);
    if (insertion.outcome == InsertOutcome::kMalformed) {
      std::cerr << entry.path() << ": malformed\n";
      return 1;
    }
    ++classes;
    refused += insertion.refused;
    if (insertion.outcome == InsertOutcome::kInserted) {
      ++changed;
      bytes = insertion.bytes;
    }
    const fs::path path = to / fs::relative(entry.path(), from);
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  std::cout << classes << ' ' << changed << ' ' << refused << '\n';
}
