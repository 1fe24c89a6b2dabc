// Counts put into the real class files of JDK 17 and 25, and into damaged ones. Whether the results verify is judged by
// JVMs (agent_insert_verify).
//   class_accesses_test DIR      with DIR/17 and DIR/25 as ExtractClasses.java makes them
#include "agent/classfile/class_accesses.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "agent/classfile/class_parts.h"
#include "testing/check.h"

using namespace headway::agent;

namespace {

using Bytes = std::vector<uint8_t>;

constexpr char kHook[] = "java/lang/HeadwayCount0";
std::filesystem::path classes;

Bytes read(const std::string& jdk, const std::string& name) {
  std::ifstream in(classes / jdk / (name + ".class"), std::ios::binary);
  CHECK(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

// How often each counter is named in a class that has counts, by number; and how many accesses its code has.
struct Found {
  std::map<int32_t, uint32_t> counters;
  uint32_t accesses = 0;
  uint32_t touches = 0, made = 0;  // calls that ask and that note whose an object is
  uint32_t wrote = 0;              // calls that tell what is written to
  uint32_t sampled = 0;            // calls at which memory nodes are asked for
};
Found look_at(std::span<const uint8_t> bytes) {
  Found found;
  const auto parts = read_class(bytes);
  CHECK(parts.has_value());
  for (const MethodAt& method : parts->methods) {
    const std::span<const uint8_t> code = method.code.code;
    for (size_t at = 0; at < code.size(); at += instruction_length(code, at)) {
      if (access_of(code[at])) ++found.accesses;
      constexpr uint8_t kSipush = 17, kInvokeStatic = 184;
      if (code[at] == kInvokeStatic) {
        const auto called = parts->file.member(Reader(code, at + 1).u2());
        if (called && called->owner == kHook && called->name == "touch") ++found.touches;
        if (called && called->owner == kHook && called->name.starts_with("made")) ++found.made;
        if (called && called->owner == kHook && called->name.starts_with("wrote")) ++found.wrote;
        if (called && called->owner == kHook && called->name.starts_with("sample")) ++found.sampled;
      }
      if (code[at] != kSipush || at + 4 > code.size() || code[at + 3] != kInvokeStatic) continue;
      const auto member = parts->file.member(Reader(code, at + 4).u2());
      if (member && member->owner == kHook && member->name == "count")
        ++found.counters[static_cast<int16_t>(Reader(code, at + 1).u2())];
    }
  }
  return found;
}

void every_access_is_in_one_piece_and_a_class_keeps_its_own() {
  for (const char* jdk : {"17", "25"}) {
    const Bytes before = read(jdk, "Formatter");
    constexpr int32_t kFirst = -100;
    const AccessClass wanted = accesses_of(before);
    CHECK(wanted.ok && wanted.name == "java/util/Formatter" && wanted.counters.size() > 3);
    const CountedClass after = count_accesses(before, kHook, {.first_counter = kFirst});
    CHECK(after.outcome == InsertOutcome::kInserted);
    CHECK_EQUAL(after.left_out, 0U);
    const Found found = look_at(after.bytes);
    CHECK_EQUAL(found.accesses, look_at(before).accesses);
    uint32_t stood_for = 0;
    for (const auto& [number, times] : found.counters) {
      CHECK(number >= kFirst && number < kFirst + static_cast<int32_t>(wanted.counters.size()));
      for (const uint16_t each : wanted.counters[static_cast<size_t>(number - kFirst)]) stood_for += times * each;
    }
    CHECK_EQUAL(stood_for, found.accesses);
    CHECK_EQUAL(after.instructions, found.accesses);
  }
}

void with_owners_each_access_has_a_call_of_its_own_or_is_in_one_piece() {
  for (const char* jdk : {"17", "25"}) {
    const Bytes before = read(jdk, "Formatter");
    const AccessClass wanted = accesses_of(before, true);
    CHECK(wanted.ok && wanted.has_owner_sites);
    const CountedClass after = count_accesses(before, kHook, {.first_row = -32768});
    CHECK(after.outcome == InsertOutcome::kInserted);
    CHECK_EQUAL(after.left_out, 0U);
    const Found found = look_at(after.bytes);
    uint32_t in_pieces = 0;
    for (const auto& [number, times] : found.counters) {
      for (const uint16_t each : wanted.counters.at(static_cast<size_t>(number))) in_pieces += times * each;
    }
    CHECK(found.touches > in_pieces && found.made > 0);
    CHECK_EQUAL(found.touches + in_pieces, look_at(before).accesses);
    CHECK_EQUAL(after.instructions, look_at(before).accesses);
  }
}

void with_lines_each_write_to_an_object_has_a_call_and_counts_are_as_without() {
  for (const char* jdk : {"17", "25"}) {
    const Bytes before = read(jdk, "Formatter");
    const AccessClass wanted = accesses_of(before, false, true);
    CHECK(wanted.ok && wanted.places.size() >= 2);
    const CountedClass after = count_accesses(before, kHook, {.first_place = 100});
    CHECK(after.outcome == InsertOutcome::kInserted);
    CHECK_EQUAL(after.unplaced_writes, 0U);
    size_t writes = 0;
    const auto parts = read_class(before);
    CHECK(parts.has_value());
    for (const MethodAt& method : parts->methods) {
      if (method.attribute_at != 0) writes += placed_writes(*parts, method).size();
    }
    const Found found = look_at(after.bytes);
    CHECK_EQUAL(size_t{found.wrote}, writes);
    CHECK(found.counters == look_at(count_accesses(before, kHook, {}).bytes).counters);
    const Found with_owners = look_at(count_accesses(before, kHook, {.first_row = -32768, .first_place = 100}).bytes);
    CHECK_EQUAL(size_t{with_owners.wrote}, writes);
    CHECK_EQUAL(with_owners.touches, look_at(count_accesses(before, kHook, {.first_row = -32768}).bytes).touches);
  }
}

void with_nodes_each_access_to_an_object_has_a_call_and_counts_are_as_without() {
  for (const char* jdk : {"17", "25"}) {
    const Bytes before = read(jdk, "Formatter");
    CHECK(accesses_of(before, false, false, true).counters == accesses_of(before).counters);
    size_t touches = 0;
    const auto parts = read_class(before);
    CHECK(parts.has_value());
    for (const MethodAt& method : parts->methods) {
      if (method.attribute_at != 0) touches += owner_sites(*parts, method).touches.size();
    }
    const CountedClass after = count_accesses(before, kHook, {.first_node_row = 40});
    CHECK(after.outcome == InsertOutcome::kInserted);
    const Found found = look_at(after.bytes);
    CHECK_EQUAL(size_t{found.sampled}, touches);
    CHECK_EQUAL(found.touches, 0U);
    CHECK(found.counters == look_at(count_accesses(before, kHook, {}).bytes).counters);
    const Bytes all = count_accesses(before, kHook, {.first_row = 40, .first_place = 100, .first_node_row = 40}).bytes;
    CHECK_EQUAL(size_t{look_at(all).sampled}, touches);
    CHECK_EQUAL(size_t{look_at(all).touches}, touches);
  }
}

void a_class_that_counts_already_is_left_alone() {
  const CountedClass once = count_accesses(read("25", "Formatter"), kHook, {});
  CHECK(count_accesses(once.bytes, kHook, {}).outcome == InsertOutcome::kAlready);
}

void a_cut_off_class_is_malformed_wherever_it_is_cut() {
  const Bytes whole = read("17", "Formatter");
  for (size_t length = 0; length < whole.size(); length += 7) {
    const Bytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
    CHECK(!accesses_of(part).ok);
    CHECK(count_accesses(part, kHook, {}).outcome == InsertOutcome::kMalformed);
  }
}

void random_bytes_never_lead_out_of_bounds() {
  const Bytes whole = read("17", "Formatter");
  uint64_t random = 1;
  const auto next = [&random] {
    return random = random * 6364136223846793005ULL + 1442695040888963407ULL, random >> 33;
  };
  for (int round = 0; round < 2000; ++round) {
    Bytes damaged = whole;
    for (uint64_t left = next() % 16 + 1; left > 0; --left) {
      damaged[next() % damaged.size()] = static_cast<uint8_t>(next());
    }
    accesses_of(damaged);
    count_accesses(damaged, kHook, {});
    accesses_of(damaged, true);
    count_accesses(damaged, kHook, {.first_row = 0, .first_place = 0, .first_node_row = 0});
  }
}

// getfield; goto back to it: what is jumped to begins a piece, and the jump ends one.
void a_jump_and_what_is_jumped_to_end_a_piece() {
  const uint8_t code[] = {42, 180, 0, 1, 87, 42, 180, 0, 1, 87, 167, 255, 251};
  CodeParts parts;
  parts.code = code;
  const auto found = access_pieces(parts);
  CHECK(found && found->pieces.size() == 2);
  CHECK_EQUAL(found->pieces[0].end, 5U);
  CHECK_EQUAL(found->pieces[1].end, 10U);
  for (const AccessPiece& piece : found->pieces) CHECK_EQUAL(piece.counts[0], 1U);
}

void nothing_is_inserted_into_a_handler_that_covers_itself() {
  const uint8_t code[] = {42, 180, 0, 1, 87, 177, 87, 42, 180, 0, 1, 87, 177};
  CodeParts parts;
  parts.code = code;
  parts.handlers.push_back({6, 13, 6, 0});
  const auto found = access_pieces(parts);
  CHECK(found && found->pieces.size() == 1);
  CHECK_EQUAL(found->uncounted, 1U);
}

// aload_0; getfield; astore_1; goto return; return: a handler's frame may have what local variable 1 was before.
void what_is_inserted_where_a_handlers_range_ends_is_not_in_it() {
  const uint8_t code[] = {42, 180, 0, 1, 76, 167, 0, 3, 177};
  CodeParts parts;
  parts.max_stack = 1;
  parts.code = code;
  parts.handlers.push_back({0, 5, 8, 0});
  const auto found = access_pieces(parts);
  CHECK(found && found->pieces.size() == 1);
  CHECK_EQUAL(found->pieces[0].end, 5U);
  const Bytes file = read("17", "Formatter");
  ClassFile constants(file);
  CHECK(constants.read_constants());
  const std::vector<Inserted> inserted{{5, true, Bytes(8, 0)}};
  Bytes moved;
  CHECK(move_code(constants, parts, inserted, 1, moved) == MoveOutcome::kDone);
  constexpr size_t kHandlers = 8 + 9 + 8 + 2;  // behind the sizes, the code with the call, and the number of handlers
  Reader handler(moved, kHandlers);
  CHECK_EQUAL(handler.u2(), 0U);
  CHECK_EQUAL(handler.u2(), 5U);
  CHECK_EQUAL(handler.u2(), 8U + 8U);
}

// aload_0; getfield; pop; wide ret; return
void a_wide_return_from_a_subroutine_ends_a_piece() {
  const uint8_t code[] = {42, 180, 0, 1, 87, 196, 169, 1, 0, 177};
  CodeParts parts;
  parts.code = code;
  const auto found = access_pieces(parts);
  CHECK(found && found->pieces.size() == 1);
  CHECK_EQUAL(found->pieces[0].end, 5U);
}

void a_jump_into_an_instruction_is_malformed() {
  const uint8_t code[] = {42, 180, 0, 1, 167, 255, 254};
  CodeParts parts;
  parts.code = code;
  CHECK(!access_pieces(parts));
}

}  // namespace

int main(int count, char** arguments) {
  CHECK_EQUAL(count, 2);
  classes = arguments[1];
  every_access_is_in_one_piece_and_a_class_keeps_its_own();
  with_owners_each_access_has_a_call_of_its_own_or_is_in_one_piece();
  with_lines_each_write_to_an_object_has_a_call_and_counts_are_as_without();
  with_nodes_each_access_to_an_object_has_a_call_and_counts_are_as_without();
  a_class_that_counts_already_is_left_alone();
  a_cut_off_class_is_malformed_wherever_it_is_cut();
  random_bytes_never_lead_out_of_bounds();
  a_jump_and_what_is_jumped_to_end_a_piece();
  nothing_is_inserted_into_a_handler_that_covers_itself();
  what_is_inserted_where_a_handlers_range_ends_is_not_in_it();
  a_wide_return_from_a_subroutine_ends_a_piece();
  a_jump_into_an_instruction_is_malformed();
}
