// Which writes meet another thread's: by hand, and against all of a random history.
#include "agent/objects/cache_lines.h"

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <type_traits>
#include <vector>

#include "agent/objects/place_table.h"
#include "testing/check.h"

using namespace headway::agent;

namespace {

// By thread, other thread, place, other place, kind and whether it is one object.
using Meetings = std::map<std::tuple<uint64_t, uint64_t, uint32_t, uint32_t, int, bool>, uint64_t>;

struct Sums {
  Meetings meetings;
  std::map<std::pair<uint64_t, uint32_t>, uint64_t> writes;  // by thread and place

  void operator()(const hw_line_writes& row) { writes[{row.java_id, row.place}] = row.writes; }
  void operator()(const hw_line_share& row) {
    meetings[{row.java_id, row.other_id, row.place, row.other_place, row.kind, row.same_object != 0}] = row.writes;
  }
};

std::unique_ptr<CacheLines> started() {
  auto lines = std::make_unique<CacheLines>();
  CHECK(lines->start());
  lines->use_places(9);
  return lines;
}

Sums sums_of(CacheLines& lines) {
  Sums sums;
  lines.write_changed([&](const auto& row) { sums(row); });
  return sums;
}

constexpr uint64_t kObject = 0x10000;  // begins a block of two lines

void two_threads_that_write_two_fields_of_a_line_in_turn_share_it_falsely() {
  const auto lines = started();
  CacheLines::Thread* const first = lines->begin_thread(11);
  CacheLines::Thread* const second = lines->begin_thread(12);
  for (int turn = 0; turn < 10; ++turn) {
    lines->note(*first, {kObject + 16, kObject, 1, 0});
    lines->note(*second, {kObject + 24, kObject, 2, 0});
  }
  const Sums sums = sums_of(*lines);
  const Meetings wanted = {{{11, 12, 1, 2, HW_LINE_SAME_LINE, true}, 9}, {{12, 11, 2, 1, HW_LINE_SAME_LINE, true}, 9}};
  CHECK(sums.meetings == wanted);
  CHECK_EQUAL(sums.writes.at({11, 1}), 10U);
}

void fields_that_are_128_bytes_apart_share_none() {
  const auto lines = started();
  CacheLines::Thread* const first = lines->begin_thread(11);
  CacheLines::Thread* const second = lines->begin_thread(12);
  for (uint64_t at = 0; at < 16; ++at) {
    const uint64_t object = kObject + at * (4096 + 8);  // in each place that an object may have on two lines
    for (int turn = 0; turn < 4; ++turn) {
      lines->note(*first, {object + 16, object, 1, 0});
      lines->note(*second, {object + 16 + 128, object, 2, 0});
    }
  }
  CHECK(sums_of(*lines).meetings.empty());
}

void one_field_that_two_threads_write_in_turn_is_shared_truly() {
  const auto lines = started();
  CacheLines::Thread* const first = lines->begin_thread(11);
  CacheLines::Thread* const second = lines->begin_thread(12);
  for (int turn = 0; turn < 5; ++turn) {
    lines->note(*first, {kObject + 16, kObject, 1, 0});
    lines->note(*second, {kObject + 16, kObject, 1, 0});
  }
  const Meetings wanted = {{{11, 12, 1, 1, HW_LINE_SAME_PLACE, true}, 4},
                           {{12, 11, 1, 1, HW_LINE_SAME_PLACE, true}, 5}};
  CHECK(sums_of(*lines).meetings == wanted);
}

void an_object_that_is_handed_over_once_shares_nothing_but_the_fields_that_both_write() {
  const auto lines = started();
  CacheLines::Thread* const first = lines->begin_thread(11);
  CacheLines::Thread* const second = lines->begin_thread(12);
  lines->note(*first, {kObject + 16, kObject, 1, 0});
  for (int turn = 0; turn < 5; ++turn) lines->note(*second, {kObject + 24, kObject, 2, 0});
  CHECK(sums_of(*lines).meetings.empty());
}

void a_collection_begins_all_lines_anew() {
  const auto lines = started();
  CacheLines::Thread* const first = lines->begin_thread(11);
  CacheLines::Thread* const second = lines->begin_thread(12);
  for (uint32_t epoch = 0; epoch < 5; ++epoch) {
    lines->note(*first, {kObject + 16, kObject, 1, epoch});
    lines->note(*second, {kObject + 24, kObject, 2, epoch});
  }
  CHECK(sums_of(*lines).meetings.empty());
}

struct Past {
  uint64_t thread, address, object;
  uint32_t place, epoch;
};

// By looking back through everything.
void add_meeting(const std::vector<Past>& history, const Past& now, Meetings& meetings) {
  const auto last = [&](auto is_wanted) {
    for (auto at = history.rbegin(); at != history.rend() && at->epoch == now.epoch; ++at) {
      if (is_wanted(*at)) return &*at;
    }
    return static_cast<const Past*>(nullptr);
  };
  const Past* const here = last([&](const Past& each) { return each.address == now.address; });
  if (here == nullptr) return;
  if (here->thread != now.thread) {
    ++meetings[{now.thread, here->thread, now.place, now.place, HW_LINE_SAME_PLACE, true}];
    return;
  }
  const Past* const line = last([&](const Past& each) { return each.address / 64 == now.address / 64; });
  const Past* const block = last([&](const Past& each) { return each.address / 128 == now.address / 128; });
  const bool is_line = line->thread != now.thread;
  const Past* const other = is_line ? line : block->thread != now.thread ? block : nullptr;
  if (other == nullptr) return;
  const int kind = is_line ? HW_LINE_SAME_LINE : HW_LINE_NEXT_LINE;
  ++meetings[{now.thread, other->thread, now.place, other->place, kind, other->object == now.object}];
}

void sums_are_those_of_a_search_through_the_whole_history() {
  uint64_t random = 7;
  const auto next = [&random](uint64_t below) {
    return random = random * 6364136223846793005ULL + 1442695040888963407ULL, (random >> 33) % below;
  };
  for (int round = 0; round < 20; ++round) {
    const auto lines = started();
    std::array<CacheLines::Thread*, 4> threads{};
    for (uint64_t i = 0; i < threads.size(); ++i) threads[i] = lines->begin_thread(20 + i);
    std::vector<Past> history;
    Meetings wanted;
    std::map<std::pair<uint64_t, uint32_t>, uint64_t> writes;
    uint32_t epoch = 0;
    for (int step = 0; step < 2'000; ++step) {
      epoch += next(400) == 0 ? 1 : 0;
      const uint64_t object = kObject + 40 * next(12), field = next(4), thread = next(threads.size());
      const Past now{20 + thread, object + 16 + 6 * field, object, static_cast<uint32_t>(1 + field), epoch};
      lines->note(*threads[thread], {now.address, now.object, now.place, now.epoch});
      add_meeting(history, now, wanted);
      history.push_back(now);
      ++writes[{now.thread, now.place}];
    }
    const Sums sums = sums_of(*lines);
    CHECK(sums.meetings == wanted);
    CHECK(sums.writes == writes);
    CHECK_EQUAL(lines->pushed_out(), 0U);
  }
}

void threads_that_write_at_once_lose_no_write() {
  const auto lines = started();
  constexpr uint64_t kTimes = 20'000;
  std::vector<std::thread> threads;
  for (uint64_t id = 31; id < 35; ++id) {
    threads.emplace_back([&lines, id, kTimes] {
      CacheLines::Thread* const own = lines->begin_thread(id);
      for (uint64_t i = 0; i < kTimes; ++i) lines->note(*own, {kObject + 8 * (id - 31), kObject, 1, 0});
      Sums sums;
      lines->end_thread(own, [&](const auto& row) { sums(row); });
      CHECK_EQUAL(sums.writes.at({id, 1}), kTimes);
      for (const auto& [key, count] : sums.meetings) CHECK(std::get<4>(key) == HW_LINE_SAME_LINE && count < kTimes);
    });
  }
  for (std::thread& each : threads) each.join();
  CHECK(sums_of(*lines).writes.empty());
}

// Classes are loaded by several threads at once: the one that got the last numbers may be the first to say so.
void places_stay_in_use_whoever_says_so_last() {
  const auto lines = started();
  lines->use_places(20);
  lines->use_places(12);
  CacheLines::Thread* const thread = lines->begin_thread(11);
  lines->note(*thread, {kObject + 16, kObject, 20, 0});
  const Sums sums = sums_of(*lines);
  CHECK_EQUAL(sums.writes.at({11, 20}), 1U);
}

void a_write_of_unknown_address_is_counted_and_meets_none() {
  const auto lines = started();
  CacheLines::Thread* const first = lines->begin_thread(11);
  CacheLines::Thread* const second = lines->begin_thread(12);
  for (int turn = 0; turn < 3; ++turn) {
    lines->note(*first, {kObject + 16, kObject, 1, 0});
    CacheLines::count(*second, 1);
  }
  const Sums sums = sums_of(*lines);
  CHECK_EQUAL(sums.writes.at({12, 1}), 3U);
  CHECK(sums.meetings.empty());
}

void what_has_no_room_is_counted_as_left_out() {
  const auto lines = started();
  lines->use_places(CacheLines::kPlaces - 1);
  CacheLines::Thread* const first = lines->begin_thread(11);
  CacheLines::Thread* const second = lines->begin_thread(12);
  const uint32_t most = CacheLines::kShares + 5;
  for (uint32_t place = 1; place <= most; ++place) {
    lines->note(*first, {kObject + 16, kObject, 1, 0});
    lines->note(*second, {kObject + 16, kObject, place, 0});
  }
  CHECK_EQUAL(lines->shares_left_out(), 5U);
  while (lines->begin_thread(1) != nullptr) {
  }
  CHECK_EQUAL(lines->threads_left_out(), 1U);
}

void place_numbers_begin_at_one_and_are_bounded() {
  PlaceTable places;
  const WritePlace field{false, "com/acme/Order", "hits", "J"};
  CHECK(!places.add(1, std::span(&field, 1), false).has_value());  // not started
  CHECK(places.start());
  CHECK_EQUAL(places.add(1, std::span(&field, 1), false).value_or(0), 1 - PlaceTable::kMiddle);
  const std::vector<WritePlace> rest(PlaceTable::kMost - 1, field);
  CHECK_EQUAL(places.add(2, rest, false).value_or(0), 2 - PlaceTable::kMiddle);
  CHECK(!places.add(1, std::span(&field, 1), false).has_value());
  CHECK(places.add(3, {}, false).has_value());
  const auto found = places.find(1 - PlaceTable::kMiddle);
  CHECK(found && found->owner == "com/acme/Order" && found->name == "hits" && !found->is_element);
  CHECK(!places.find(-PlaceTable::kMiddle) && !places.find(INT32_MIN) && !places.find(INT32_MAX));
  places.set(1 - PlaceTable::kMiddle, 16);
  places.set(INT32_MAX, 16);
  CHECK_EQUAL(reinterpret_cast<const int64_t*>(places.address())[1], 16);
}

void a_class_whose_code_is_changed_keeps_its_numbers_and_one_of_another_loader_has_others() {
  PlaceTable places;
  CHECK(places.start());
  const std::vector<WritePlace> fields = {{false, "com/acme/Order", "hits", "J"},
                                          {false, "com/acme/Order", "misses", "J"}};
  const std::vector<WritePlace> fewer(fields.begin(), fields.begin() + 1);
  const std::vector<WritePlace> others(fields.begin() + 1, fields.end());
  const auto first = places.add(1, fields, false);
  for (int i = 0; i < 100'000; ++i) CHECK(places.add(1, fields, true) == first);
  CHECK(places.add(1, fewer, true) == first);
  CHECK_EQUAL(places.last(), 2U);
  CHECK(places.add(2, fields, true) != first);   // of another class
  CHECK(places.add(1, others, true) != first);   // it writes elsewhere now
  CHECK(places.add(1, fields, false) != first);  // another one of its name, which may lay its objects out differently
  CHECK(places.add(1, fields, true) != first);   // it may be either of them
}

void threads_that_end_while_sums_are_handed_on_are_handed_on_all_the_same() {
  const auto lines = started();
  std::array<CacheLines::Thread*, 8> threads{};
  for (size_t i = 0; i < threads.size(); ++i) {
    threads[i] = lines->begin_thread(i + 1);
    lines->note(*threads[i], {kObject + 4096 * i, kObject + 4096 * i, 1, 0});
  }
  std::map<uint64_t, uint64_t> writes;
  std::mutex mutex;
  const auto note = [&](const auto& row) {
    if constexpr (std::is_same_v<std::decay_t<decltype(row)>, hw_line_writes>) {
      const std::lock_guard locked(mutex);
      writes[row.java_id] = row.writes;
    }
  };
  std::thread ending([&] {
    for (const size_t each : {5, 0, 7, 2}) lines->end_thread(threads[each], note);
  });
  lines->write_changed(note);
  ending.join();
  CHECK_EQUAL(writes.size(), threads.size());
}

}  // namespace

int main() {
  two_threads_that_write_two_fields_of_a_line_in_turn_share_it_falsely();
  fields_that_are_128_bytes_apart_share_none();
  one_field_that_two_threads_write_in_turn_is_shared_truly();
  an_object_that_is_handed_over_once_shares_nothing_but_the_fields_that_both_write();
  a_collection_begins_all_lines_anew();
  sums_are_those_of_a_search_through_the_whole_history();
  threads_that_write_at_once_lose_no_write();
  places_stay_in_use_whoever_says_so_last();
  a_write_of_unknown_address_is_counted_and_meets_none();
  what_has_no_room_is_counted_as_left_out();
  place_numbers_begin_at_one_and_are_bounded();
  a_class_whose_code_is_changed_keeps_its_numbers_and_one_of_another_loader_has_others();
  threads_that_end_while_sums_are_handed_on_are_handed_on_all_the_same();
}
