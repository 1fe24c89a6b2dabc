// Calls put into the real class files of JDK 17 and 25, and into damaged ones. Whether the results verify is judged by
// JVMs (agent_insert_verify).
//   class_insert_test DIR      with DIR/17 and DIR/25 as ExtractClasses.java makes them
#include "agent/classfile/class_insert.h"
#include "agent/classfile/class_facts.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "agent/causal/common/point_match.h"
#include "agent/classfile/class_parts.h"
#include "agent/core/scope.h"
#include "agent/hooks/hook_sites.h"
#include "testing/check.h"

using namespace headway::agent;
using namespace headway::agent::causal;

namespace {

using Bytes = std::vector<uint8_t>;

constexpr char kHook[] = "java/lang/HeadwayPoint0";
constexpr Insert kEverywhere[] = {
    {InsertAt::kEntry, Call::kHit, 1, {}, {}, 0},
    {InsertAt::kStretch, Call::kTimed, 32767, {}, {}, 0},
    {InsertAt::kRelease, Call::kSettle, 0, {}, {}, 0},
    {InsertAt::kEntry, Call::kSettle, 0, {}, {}, 0, true, true},
};
std::filesystem::path classes;

Bytes read(const std::string& jdk, const std::string& name) {
  std::ifstream in(classes / jdk / (name + ".class"), std::ios::binary);
  CHECK(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

Insertion insert(const Bytes& bytes, std::span<const Insert> inserts) { return insert_calls(bytes, inserts, kHook); }

const MethodFacts& method(const ClassFacts& facts, std::string_view name) {
  const auto found = std::ranges::find(facts.methods, name, &MethodFacts::name);
  CHECK(found != facts.methods.end());
  return *found;
}

void a_call_makes_its_method_a_multiple_of_four_bytes_longer_and_nothing_else() {
  for (const char* jdk : {"17", "25"}) {
    const Bytes before = read(jdk, "Formatter");
    const Insert close[] = {{InsertAt::kEntry, Call::kHit, 7, "close", "()V", 0}};
    const Insertion after = insert(before, close);
    CHECK(after.outcome == InsertOutcome::kInserted);
    CHECK_EQUAL(after.places[0], 1U);
    const ClassFacts old_facts = class_facts(before);
    const ClassFacts new_facts = class_facts(after.bytes);
    CHECK(new_facts.ok && old_facts.methods.size() == new_facts.methods.size());
    for (size_t i = 0; i < old_facts.methods.size(); ++i) {
      const uint32_t more = old_facts.methods[i].name == "close" ? 8 : 0;
      CHECK_EQUAL(new_facts.methods[i].code_bytes, old_facts.methods[i].code_bytes + more);
      CHECK(new_facts.methods[i].lines == old_facts.methods[i].lines);
    }
  }
}

void a_class_that_has_our_calls_gets_none_again() {
  const Insertion once = insert(read("25", "Formatter"), kEverywhere);
  CHECK(once.outcome == InsertOutcome::kInserted);
  CHECK(insert(once.bytes, kEverywhere).outcome == InsertOutcome::kAlready);
}

// Aload_0, aload_1, the call, over the handler; the handler drops what was thrown; then what the method did before, and
// once more before it returns.
void the_owner_of_a_lock_is_set_between_two_calls_that_may_fail() {
  for (const char* jdk : {"17", "25"}) {
    const Bytes before = read(jdk, "AbstractOwnableSynchronizer");
    const Insertion after = insert(before, kOwnerCalls);
    CHECK(after.outcome == InsertOutcome::kInserted);
    CHECK_EQUAL(after.places[0], 1U);
    const auto old_class = read_class(before);
    const auto new_class = read_class(after.bytes);
    CHECK(old_class && new_class);
    const auto is_setter = [](const MethodAt& each) { return each.name == "setExclusiveOwnerThread"; };
    const CodeParts& old_code = std::ranges::find_if(old_class->methods, is_setter)->code;
    const CodeParts& new_code = std::ranges::find_if(new_class->methods, is_setter)->code;
    constexpr size_t kCall = 12;
    const size_t kReturn = old_code.code.size() - 1;
    CHECK_EQUAL(new_code.code.size(), old_code.code.size() + 2 * kCall);
    CHECK(std::ranges::equal(new_code.code.subspan(kCall, kReturn), old_code.code.first(kReturn)));
    CHECK_EQUAL(new_code.code.back(), old_code.code.back());
    CHECK_EQUAL(new_code.handlers.size(), 2U);
    for (const size_t first : {size_t{0}, kCall + kReturn}) {
      const std::span<const uint8_t> call = new_code.code.subspan(first, kCall);
      CHECK(call[0] == 42 && call[1] == 43 && call[2] == 184 && call[5] == 167 && call[7] == 4 && call[8] == 87);
      const Handler& handler = new_code.handlers[first == 0 ? 0 : 1];
      CHECK(handler.start == first && handler.end == first + 5 && handler.handler == first + 8);
      CHECK(new_class->file.class_name(handler.type) == "java/lang/VirtualMachineError");
    }
    CHECK(!std::ranges::find_if(old_class->methods, is_setter)->is_annotated);
    CHECK(std::ranges::find_if(new_class->methods, is_setter)->is_annotated);
  }
}

void what_fits_nothing_changes_nothing() {
  const Insert nothing[] = {{InsertAt::kEntry, Call::kHit, 7, "noSuchMethod", {}, 0},
                            {InsertAt::kLine, Call::kHit, 7, {}, {}, 65535}};
  const Insertion after = insert(read("17", "Character"), nothing);
  CHECK(after.outcome == InsertOutcome::kNothing);
  CHECK(after.bytes.empty() && after.places[0] == 0 && after.places[1] == 0);
}

void a_method_without_room_is_refused_and_the_others_are_not() {
  std::vector<Insert> many;
  for (uint16_t i = 0; i < 9000; ++i) many.push_back({InsertAt::kEntry, Call::kHit, i, "close", "()V", 0});
  many.push_back({InsertAt::kEntry, Call::kHit, 1, "flush", "()V", 0});
  const Insertion after = insert(read("17", "Formatter"), many);
  CHECK(after.outcome == InsertOutcome::kInserted);
  CHECK_EQUAL(after.refused, 1U);
  CHECK_EQUAL(after.places[0], 0U);
  CHECK_EQUAL(after.places.back(), 1U);
}

// Every prefix in memory of its own, so that AddressSanitizer sees a byte too far.
void a_cut_off_class_file_is_malformed_wherever_it_is_cut() {
  const Bytes whole = read("25", "LockSupport");
  for (size_t length = 0; length < whole.size(); ++length) {
    const Bytes cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length));
    CHECK(insert(cut, kEverywhere).outcome == InsertOutcome::kMalformed);
    CHECK(!class_facts(cut).ok);
  }
}

// What can still be read after a bit has flipped can be read again after calls were inserted.
void a_flipped_bit_never_leads_out_of_bounds() {
  const Bytes whole = read("25", "LockSupport");
  size_t readable = 0;
  for (size_t bit = 0; bit < whole.size() * 8; bit += 5) {
    Bytes damaged = whole;
    damaged[bit / 8] ^= static_cast<uint8_t>(1U << bit % 8);
    const Insertion once = insert(damaged, kEverywhere);
    if (once.outcome != InsertOutcome::kInserted) continue;
    ++readable;
    CHECK(class_facts(once.bytes).ok);
  }
  CHECK(readable > 0);
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
    insert(damaged, kEverywhere);
    class_facts(damaged);
  }
}

void facts_of_a_class_are_those_of_its_source() {
  const Bytes bytes = read("17", "Formatter");
  const ClassFacts facts = class_facts(bytes);
  CHECK(facts.ok && facts.name == "java/util/Formatter" && facts.source_file == "Formatter.java");
  CHECK(std::ranges::find(facts.interfaces, "java/io/Closeable") != facts.interfaces.end());
  CHECK(!method(facts, "close").locks);
  CHECK(method(facts, "parse").has_loop);
  CHECK(!method(facts, "out").has_loop);
}

// --- which class, which method ---------------------------------------------------------------------------------------

Place at_method(const char* class_name, const char* name, const char* descriptor = "") {
  Place place{.text = "x"};
  place.class_name = class_name;
  place.method = name;
  place.descriptor = descriptor;
  return place;
}

void a_look_for_locks_alone_finds_what_all_facts_tell() {
  int with = 0;
  int without = 0;
  for (const char* jdk : {"17", "25"}) {
    for (const auto& entry : std::filesystem::directory_iterator(classes / jdk)) {
      if (entry.path().extension() != ".class") continue;
      const Bytes bytes = read(jdk, entry.path().stem().string());
      const bool locks = std::ranges::any_of(class_facts(bytes).methods, &MethodFacts::locks);
      CHECK_EQUAL(releases_locks(bytes), locks);
      ++(locks ? with : without);
    }
  }
  CHECK(with > 0 && without > 0);
  CHECK(!releases_locks(Bytes{0xCA, 0xFE}));
}

void names_of_classes_are_matched_with_dots_or_dollars() {
  CHECK(means_class("com.acme.Outer.Inner", "com.acme.Outer$Inner"));
  CHECK(means_class("com.acme.Outer$Inner", "com.acme.Outer$Inner"));
  CHECK(!means_class("com.acme.Outer$Inner", "com.acme.Outer.Inner"));
  CHECK(may_be_in(at_method("com.acme.Server", "run"), "com.acme.Server$"));           // a Scala object
  CHECK(may_be_in(at_method("com.acme.Server", "run"), "com.acme.Server$Companion"));  // a Kotlin companion
  CHECK(!may_be_in(at_method("com.acme.Server", "run"), "com.acme.Server$Other"));
  CHECK(!may_be_in(at_method("com.acme.Server", "run"), "com.acme.Servers"));
  Place line{.text = "x"};
  line.class_name = "com/acme/Main.kt";
  line.line = 3;
  CHECK(is_source_of(line, "com.acme.MainKt", "Main.kt"));
  CHECK(!is_source_of(line, "com.other.MainKt", "Main.kt"));
  CHECK(!is_source_of(line, "com.acme.MainKt", "Other.kt"));
}

void parameters_may_be_written_as_in_java() {
  constexpr char kDescriptor[] = "(ILjava/lang/String;[[JLcom/acme/Outer$In;)V";
  CHECK_EQUAL(java_parameters(kDescriptor), "int,java.lang.String,long[][],com.acme.Outer$In");
  CHECK(means_descriptor("", kDescriptor));
  CHECK(means_descriptor("(ILjava/lang/String;[[J", kDescriptor));
  CHECK(means_descriptor("(int, String, long[][], In)", kDescriptor));
  CHECK(means_descriptor("(int,java.lang.String,long[][],com.acme.Outer$In)", kDescriptor));
  CHECK(!means_descriptor("(int, String, long[], In)", kDescriptor));
  CHECK(!means_descriptor("(int)", kDescriptor));
  CHECK(means_descriptor("()", "()V"));
  CHECK(!means_descriptor("()", "(I)V"));
}

void the_nearest_names_come_first() {
  const std::vector<std::string> names{"com.acme.MainKt", "com.acme.Man", "org.other.Main", "com.acme.Completely"};
  const std::vector<std::string> found = nearest_names("com.acme.Main", names);
  CHECK(found.size() >= 3 && std::ranges::find(found, "com.acme.MainKt") != found.end());
  CHECK(found.front() != "com.acme.Completely");
  CHECK(nearest_names("x", names).empty());
}

void a_scope_is_made_of_globs() {
  CHECK(in_scope({}, "com.acme.Order"));
  CHECK(!in_scope({}, "java.util.HashMap") && !in_scope({}, "kotlin.collections.MapsKt"));
  CHECK(in_scope({"com.acme.*"}, "com.acme.deep.Order$1") && !in_scope({"com.acme.*"}, "com.acm.Order"));
  CHECK(in_scope({"a", "*Order*"}, "com.acme.Order$1") && !in_scope({"*Order"}, "com.acme.Order$1"));
  CHECK(glob_matches("**", "") && glob_matches("a*b*c", "aXbYbc") && !glob_matches("a*b*c", "aXbY"));
}

}  // namespace

int main(int count, char** arguments) {
  CHECK_EQUAL(count, 2);
  classes = arguments[1];
  a_call_makes_its_method_a_multiple_of_four_bytes_longer_and_nothing_else();
  a_class_that_has_our_calls_gets_none_again();
  the_owner_of_a_lock_is_set_between_two_calls_that_may_fail();
  what_fits_nothing_changes_nothing();
  a_method_without_room_is_refused_and_the_others_are_not();
  a_cut_off_class_file_is_malformed_wherever_it_is_cut();
  a_flipped_bit_never_leads_out_of_bounds();
  random_bytes_never_lead_out_of_bounds();
  facts_of_a_class_are_those_of_its_source();
  a_look_for_locks_alone_finds_what_all_facts_tell();
  names_of_classes_are_matched_with_dots_or_dollars();
  parameters_may_be_written_as_in_java();
  the_nearest_names_come_first();
  a_scope_is_made_of_globs();
}
