// What a JFR file may hold that no JVM wrote: each ends in a problem that says so, in little time and memory.
#include "jfr/reader.h"

#include <algorithm>
#include <string>

#include "jfr/tests/jfr_bytes.h"

namespace headway::jfr {
namespace {

Found found_in(const std::string& bytes) { return read_all(TestFile(bytes).path()); }

bool told(const Found& found, const std::string& what) {
  return std::any_of(found.told.begin(), found.told.end(),
                     [&](const Problem& each) { return each.text.find(what) != std::string::npos; });
}

bool has_text(const Found& found, const std::string& text) {
  return std::find(found.texts.begin(), found.texts.end(), text) != found.texts.end();
}

void a_whole_file_is_read_whole() {
  const Found found = found_in(usual_chunk().bytes() + usual_chunk(5).bytes());
  CHECK_EQUAL(found.refused, "");
  CHECK_EQUAL(found.problems, 0U);
  CHECK_EQUAL(found.rows, 15U);
  CHECK_EQUAL(found.frames, 2U);  // one stack, known in both chunks
  CHECK(has_text(found, "a.B"));
  CHECK(has_text(found, "hello"));
  CHECK(has_text(found, "[{\"low\": 1, \"high\": 2}, {\"low\": 3, \"high\": 4}]"));
}

void constants_that_name_each_other_end() {
  const Found found = found_in(usual_chunk(1).bytes());
  CHECK_EQUAL(found.problems, 0U);
  CHECK(has_text(found, "{\"type\": \"a.B\", \"name\": \"run\"}"));
  // A type whose every value names itself twice: without a budget 2^depth texts.
  TestChunk chunk;
  chunk.metadata = metadata({{1, "int", {}},
                             {20, "knot", {{"left", 20, true}, {"right", 20, true}, {"number", 1}}},
                             {50, "test.Event", {{"knot", 20, true}}}});
  chunk.checkpoint = checkpoint(0, {{20, {constant(1, varints(1, 1, 9))}}});
  chunk.events = event(50, varints(1));
  CHECK_EQUAL(found_in(chunk.bytes()).rows, 1U);
}

void a_chain_of_checkpoints_that_goes_round_ends() {
  TestChunk chunk = usual_chunk();
  chunk.checkpoint = usual_constants(-1);  // into the middle of what comes before
  Found found = found_in(chunk.bytes());
  CHECK_EQUAL(found.rows, 10U);
  CHECK(found.problems > 0);
  chunk.checkpoint = usual_constants(1);  // forward
  found = found_in(chunk.bytes());
  CHECK(told(found, "point forward"));
  CHECK(has_text(found, "a.B"));
}

void checkpoints_inside_each_other_are_not_followed() {
  TestChunk chunk = usual_chunk();
  const std::string plain = checkpoint(0, {});
  const auto length = [](size_t bytes) { return static_cast<int64_t>(bytes); };
  const std::string inner = usual_constants(-length(plain.size()));
  // The outer one's bytes go on over those of the inner one, which names it as the one before.
  std::string outer = event(1, plain.substr(6) + inner);
  CHECK_EQUAL(outer.size(), plain.size() + inner.size());
  chunk.checkpoint_at = 68 + chunk.metadata.size() + chunk.events.size() + plain.size();
  chunk.checkpoint = outer;
  const Found found = found_in(chunk.bytes());
  CHECK(told(found, "inside other constants"));
  CHECK(has_text(found, "a.B"));
  CHECK_EQUAL(found.rows, 10U);
}

void what_is_no_jfr_file_is_refused() {
  CHECK_EQUAL(found_in("").refused, "it is empty");
  CHECK_EQUAL(found_in("FLR").refused, "it is shorter than a chunk's header");
  CHECK_EQUAL(found_in(std::string(500, 'x')).refused, "it does not begin with FLR");
  CHECK(!read_all("/nowhere/at.all").refused.empty());
  CHECK_EQUAL(read_all("/tmp").refused, "it is not a regular file");
}

void a_newer_version_is_refused_by_its_number() {
  TestChunk chunk = usual_chunk();
  chunk.major = 3;
  CHECK_EQUAL(found_in(chunk.bytes()).newer, 3);
  const Found later = found_in(usual_chunk().bytes() + chunk.bytes());
  CHECK_EQUAL(later.refused, "");
  CHECK_EQUAL(later.rows, 10U);
  CHECK(told(later, "version 3"));
}

void a_cut_off_file_gives_what_is_left() {
  const std::string first = usual_chunk().bytes(), second = usual_chunk().bytes();
  for (size_t length = 1; length < first.size() + second.size(); length += 3) {
    const Found found = found_in((first + second).substr(0, length));
    if (length < 68) {
      CHECK(!found.refused.empty());
      continue;
    }
    if (length == first.size()) continue;  // nothing is missing that anybody could know of
    CHECK(found.problems > 0);
    if (length > first.size()) CHECK(found.rows >= 10);
  }
}

void a_chunk_that_was_never_finished_is_read_to_its_end() {
  TestChunk chunk = usual_chunk();
  chunk.size = 1;  // less than a header: not known yet
  chunk.metadata_at = chunk.checkpoint_at = 1;
  Found found = found_in(chunk.bytes());
  CHECK_EQUAL(found.rows, 10U);
  CHECK(has_text(found, "a.B"));
  CHECK(told(found, "never finished"));
  found = found_in(chunk.bytes() + usual_chunk(3).bytes());
  CHECK_EQUAL(found.rows, 13U);
}

void a_chunk_that_was_never_finished_is_read_by_its_own_types() {
  TestChunk first = usual_chunk();
  first.size = first.metadata_at = first.checkpoint_at = 1;
  TestChunk second;  // its events are at hand for who goes on over its header as if that were an event of 70 bytes
  second.metadata = varints(2, 99) + metadata({{2, "java.lang.String", {}}, {50, "test.Event", {{"text", 2}}}});
  second.metadata_at = 70;
  second.checkpoint = checkpoint(0, {});
  second.events = event(50, text_bytes("second"));
  const Found found = found_in(first.bytes() + second.bytes());
  CHECK_EQUAL(found.problems, 1U);  // it was never finished
  CHECK_EQUAL(found.rows, 11U);
  CHECK(has_text(found, "a.B"));
  CHECK(has_text(found, "second"));
}

void hostile_lengths_end_in_a_problem() {
  TestChunk chunk = usual_chunk();
  const std::string good = chunk.events;
  chunk.events = good + varints(0, 0);  // an event of no bytes
  CHECK(told(found_in(chunk.bytes()), "length can't be"));
  chunk.events = good + varints(uint64_t{1} << 40, 50);
  CHECK(told(found_in(chunk.bytes()), "length can't be"));
  // A text, and a list, that are longer than their event.
  chunk.events = good + event(50, varints(1, 7, 8, 1, 2, 21, 22, 0, 3, 1 << 30));
  CHECK(told(found_in(chunk.bytes()), "does not hold"));
  chunk.events = good + event(50, varints(1, 7, 8, 1, 2, 21, 22, uint64_t{1} << 62));
  const Found found = found_in(chunk.bytes());
  CHECK(told(found, "does not hold"));
  CHECK_EQUAL(found.rows, 10U);
}

void types_without_end_or_without_bytes_are_left_out() {
  TestChunk chunk;
  chunk.metadata = metadata({{1, "int", {}},
                             {20, "loop", {{"again", 20}}},
                             {21, "nothing", {}},
                             {22, "wide", {{"a", 23}, {"b", 23}, {"c", 23}, {"d", 23}}},
                             {23, "wider", {{"a", 24}, {"b", 24}, {"c", 24}, {"d", 24}}},
                             {24, "loops", {{"a", 22}, {"b", 22}, {"c", 22}, {"d", 22}}},
                             {50, "test.Loop", {{"loop", 20}}},
                             {51, "test.Nothing", {{"nothing", 21, false, true}}},
                             {52, "test.Wide", {{"wide", 22}}},
                             {53, "test.Unknown", {{"unknown", 99}}},
                             {54, "test.Good", {{"number", 1}}}});
  chunk.checkpoint = checkpoint(0, {{20, {constant(1, varints(1))}}});
  for (uint64_t type = 50; type <= 54; ++type) chunk.events += event(type, varints(7));
  const Found found = found_in(chunk.bytes());
  CHECK_EQUAL(found.rows, 1U);
  CHECK(told(found, "does not lay out"));
}

// Names that run into each other: one column of the first event has the name of both of the other's.
void events_of_one_name_with_fields_that_look_alike_are_kept_apart() {
  TestChunk chunk;
  chunk.metadata = metadata({{3, "long", {}},
                             {50, "test.Event", {{"xb\ny", 3}}},
                             {51, "test.Event", {{"x", 3}, {"y", 3}}},
                             {52, "test.Event", {{"xa\ny", 3}}}});
  chunk.checkpoint = checkpoint(0, {});
  chunk.events = event(50, varints(1)) + event(52, varints(1)) + event(51, varints(2, 3));
  const Found found = found_in(chunk.bytes());
  CHECK_EQUAL(found.rows, 3U);
  CHECK_EQUAL(found.problems, 0U);
}

void bytes_between_chunks_are_passed_over() {
  const Found found = found_in(usual_chunk().bytes() + "these are no chunk, FLR" + usual_chunk(5).bytes());
  CHECK_EQUAL(found.rows, 15U);
  CHECK(told(found, "no chunk"));
}

// Each is a row of Python's in the end.
void threads_without_end_are_left_out() {
  constexpr uint64_t kMost = InternedRows::kMostThreads;
  TestChunk chunk;
  chunk.metadata = metadata({{2, "java.lang.String", {}},
                             {3, "long", {}},
                             {13, "java.lang.Thread", {{"osThreadId", 3}, {"javaThreadId", 3}}},
                             {50, "test.Event", {{"thread", 13, true}}}});
  std::vector<std::string> threads;
  for (uint64_t i = 1; i <= kMost + 2; ++i) {
    threads.push_back(constant(i, varints(i, i)));
    chunk.events += event(50, varints(i));
  }
  chunk.events += event(50, varints(1));
  chunk.checkpoint = checkpoint(0, {{13, threads}});
  const TestFile file(chunk.bytes());
  Reader reader(file.path(), {}, Times::one_clock);
  std::vector<int32_t> ids;
  while (EventTable* table = reader.next()) {
    const auto& taken = table->columns.front().ids;
    ids.insert(ids.end(), taken.begin(), taken.end());
  }
  CHECK_EQUAL(reader.interned().threads().size(), kMost);
  CHECK_EQUAL(ids.size(), kMost + 3);
  CHECK_EQUAL(ids[kMost - 1], static_cast<int32_t>(kMost - 1));
  CHECK_EQUAL(ids[kMost], -1);
  CHECK_EQUAL(ids[kMost + 1], -1);
  CHECK_EQUAL(ids[kMost + 2], 0);  // one that is known stays so
  CHECK_EQUAL(reader.problem_count(), 1U);
  CHECK(reader.problems().front().text.find("more threads than") != std::string::npos);
}

void chunks_without_end_are_not_read() {
  TestChunk empty;
  empty.metadata_at = empty.checkpoint_at = 1;
  const std::string whole = usual_chunk(5).bytes(), one = empty.bytes();
  std::string bytes = whole;
  for (size_t i = 0; i < (1 << 17) + 1; ++i) bytes += one;
  const TestFile file(bytes + whole);
  Reader reader(file.path(), {}, Times::one_clock);
  uint64_t rows = 0;
  while (EventTable* table = reader.next()) rows += table->rows;
  CHECK_EQUAL(rows, 5U);
  CHECK_EQUAL(reader.chunks().size(), size_t{1} << 17);
  CHECK_EQUAL(reader.problem_count(), (uint64_t{1} << 17) - 1 + 1);  // of each empty one, and of those beyond
}

// A dozen short types, of which each has the one before it twice: 2^12 steps of a few bytes, anew in each chunk.
void types_within_types_are_laid_out_until_it_is_too_much() {
  TestChunk chunk;
  std::vector<TestType> types{{1, "int", {}}, {50, "test.Event", {{"number", 1}}}};
  for (int id = 2; id < 14; ++id) types.push_back({id, "t" + std::to_string(id), {{"a", id - 1}, {"b", id - 1}}});
  types.push_back({51, "test.Wide", {{"wide", 13}}});
  chunk.metadata = metadata(types);
  chunk.checkpoint = checkpoint(0, {});
  chunk.events = event(50, varints(1)) + event(51, std::string(1 << 12, '\0'));
  std::string bytes;
  constexpr uint64_t kChunks = 200;
  for (uint64_t i = 0; i < kChunks; ++i) bytes += chunk.bytes();
  const Found found = found_in(bytes);
  CHECK(found.rows >= 20);
  CHECK(found.rows < kChunks);
  CHECK_EQUAL(found.rows + found.problems, 2 * kChunks);
  CHECK(told(found, "does not hold"));
}

// Of a hundred thousand each batch would be a few rows, and all are looked through for each.
void kinds_of_events_without_end_are_left_out() {
  constexpr int kMost = 4096, kMore = 3;
  TestChunk chunk;
  std::vector<TestType> types{{1, "int", {}}};
  for (int i = 0; i < kMost + kMore; ++i) types.push_back({100 + i, "test.E" + std::to_string(i), {{"number", 1}}});
  chunk.metadata = metadata(types);
  chunk.checkpoint = checkpoint(0, {});
  for (int i = 0; i < kMost + kMore; ++i) chunk.events += event(static_cast<uint64_t>(100 + i), varints(1));
  chunk.events += event(100, varints(2));
  const Found found = found_in(chunk.bytes());
  CHECK_EQUAL(found.rows, uint64_t{kMost} + 1);
  CHECK_EQUAL(found.problems, uint64_t{kMore});
}

// Two bytes of an event are a text with the name of a field, which is as long as the file's author likes.
void names_of_fields_are_repeated_until_it_is_too_much() {
  TestChunk chunk;
  chunk.metadata = metadata({{1, "int", {}},
                             {20, "pairs", {{std::string(60'000, 'x'), 1}, {"y", 1}}},
                             {50, "test.Event", {{"list", 20, false, true}}}});
  chunk.checkpoint = checkpoint(0, {});
  constexpr uint64_t kEvents = 3000;
  for (uint64_t i = 0; i < kEvents; ++i) chunk.events += event(50, varints(1, i, 7));
  const Found found = found_in(chunk.bytes());
  CHECK_EQUAL(found.rows, kEvents);
  CHECK(told(found, "named more often"));
  CHECK(has_text(found, "[{\"...\": 2999, \"y\": 7}]"));
}

// A class of 60,000 fields is one constant; each event names it a thousand times in two bytes.
void wide_constants_are_read_for_texts_until_it_is_too_much() {
  constexpr int kFields = 60'000;
  TestChunk chunk;
  TestType wide{10, "java.lang.Class", {{"name", 2}}};
  for (int i = 0; i < kFields; ++i) wide.fields.push_back({"f", 1});
  chunk.metadata =
      metadata({{1, "int", {}}, {2, "java.lang.String", {}}, wide, {50, "test.Event", {{"list", 10, true, true}}}});
  chunk.checkpoint = checkpoint(0, {{10, {constant(1, text_bytes("a/B") + std::string(kFields, '\1'))}}});
  Bytes thousand;
  thousand.varint(1000);
  for (int i = 0; i < 3; ++i) chunk.events += event(50, thousand.out + std::string(1000, '\1'));
  const Found found = found_in(chunk.bytes());
  CHECK_EQUAL(found.rows, 3U);
  CHECK(told(found, "named more often"));
  CHECK(std::any_of(found.texts.begin(), found.texts.end(),
                    [](const std::string& text) { return text.starts_with("[\"a.B\", \"a.B\""); }));
}

// A name that no table takes is not kept whole.
void a_long_name_of_a_thread_is_cut_short() {
  TestChunk chunk = usual_chunk();
  const std::string thread = text_bytes("os") + varints(77) + text_bytes(std::string(70'000, 'n')) + varints(1);
  chunk.checkpoint = checkpoint(0, {{13, {constant(7, thread)}}});
  const TestFile file(chunk.bytes());
  Reader reader(file.path(), {}, Times::one_clock);
  while (reader.next() != nullptr) continue;
  const std::string& name = reader.interned().threads().front().java_name;
  CHECK_EQUAL(name, std::string((1 << 16) - 3, 'n') + "...");
  CHECK_EQUAL(reader.interned().kept_bytes(), size_t{1 << 16} + 2);
}

}  // namespace
}  // namespace headway::jfr

int main() {
  using namespace headway::jfr;
  a_whole_file_is_read_whole();
  constants_that_name_each_other_end();
  a_chain_of_checkpoints_that_goes_round_ends();
  checkpoints_inside_each_other_are_not_followed();
  what_is_no_jfr_file_is_refused();
  a_newer_version_is_refused_by_its_number();
  a_cut_off_file_gives_what_is_left();
  a_chunk_that_was_never_finished_is_read_to_its_end();
  a_chunk_that_was_never_finished_is_read_by_its_own_types();
  hostile_lengths_end_in_a_problem();
  types_without_end_or_without_bytes_are_left_out();
  events_of_one_name_with_fields_that_look_alike_are_kept_apart();
  bytes_between_chunks_are_passed_over();
  threads_without_end_are_left_out();
  chunks_without_end_are_not_read();
  types_within_types_are_laid_out_until_it_is_too_much();
  kinds_of_events_without_end_are_left_out();
  names_of_fields_are_repeated_until_it_is_too_much();
  wide_constants_are_read_for_texts_until_it_is_too_much();
  a_long_name_of_a_thread_is_cut_short();
}
