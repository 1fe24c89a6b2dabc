// The walk along the critical path: programs whose path is known, and columns that no recording would have.
#include "critical_path/critical_path.h"

#include <algorithm>
#include <random>
#include <stdexcept>
#include <vector>

#include "decode/slices/slices.h"
#include "testing/check.h"

namespace headway {
namespace {

struct Row {
  int32_t thread;
  int64_t end, running, runnable, blocked;
  int32_t waker = -1;
  uint8_t flags = 0;
};

class Table {
 public:
  explicit Table(std::vector<Row> rows) {
    std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.end < b.end; });
    for (const Row& row : rows) add(row);
  }
  void add(const Row& row) {
    tick.push_back(1);
    end.push_back(row.end);
    running.push_back(row.running);
    runnable.push_back(row.runnable);
    blocked.push_back(row.blocked);
    stolen.push_back(0);
    thread.push_back(row.thread);
    waker.push_back(row.waker);
    flags.push_back(row.flags);
  }
  // Feeds the rows from the last to the first, `step` at a time.
  void feed(CriticalPath& path, size_t step) const {
    for (size_t high = tick.size(); high > 0;) {
      const size_t low = high > step ? high - step : 0;
      PackedSlices part;
      part.rows = high - low;
      part.tick_ns = tick.data() + low;
      part.end_ticks = end.data() + low;
      part.running_ticks = running.data() + low;
      part.runnable_ticks = runnable.data() + low;
      part.blocked_ticks = blocked.data() + low;
      part.stolen_ticks = stolen.data() + low;
      part.thread_id = thread.data() + low;
      part.waker_id = waker.data() + low;
      part.flags = flags.data() + low;
      path.batch(part);
      high = low;
    }
    path.finish();
  }

 private:
  std::vector<int16_t> tick;
  std::vector<int64_t> end, running, runnable, blocked, stolen;
  std::vector<int32_t> thread, waker;
  std::vector<uint8_t> flags;
};

PathWaits no_waits(size_t threads) { return {std::vector<int64_t>(threads + 1, 0), {}, {}, {}, {}}; }

bool is_partition(const PathPieces& pieces, int64_t from, int64_t to) {
  int64_t now = to;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (pieces.end_ns[i] != now || pieces.start_ns[i] >= now) return false;
    now = pieces.start_ns[i];
  }
  return now == from;
}

// Main starts two workers at 10 and 20, waits for the slow one from 30 to 90, and runs on to 100.
void a_join_leads_through_the_slow_worker() {
  const Table table({{0, 30, 30, 0, 0}, {1, 50, 38, 2, 0}, {2, 90, 65, 5, 0}, {0, 100, 9, 1, 60, 2}});
  CriticalPath path({{0, 10, 20}, {-1, 0, 0}}, no_waits(3), 0, 0, 100);
  table.feed(path, 2);
  const PathPieces pieces = path.take();
  CHECK(is_partition(pieces, 0, 100));
  const std::vector<int32_t> threads = {0, 0, 2, 0};
  CHECK(pieces.thread == threads);
  CHECK(pieces.start_ns[2] == 30 && pieces.waiter[2] == 0);
  CHECK(path.followed() == 1);
}

void a_thread_that_was_born_in_the_wait_leads_to_its_parent() {
  const Table table({{0, 30, 30, 0, 0}, {1, 60, 60, 0, 0}, {2, 90, 40, 0, 0}, {0, 100, 10, 0, 60, 2}});
  CriticalPath path({{0, 0, 50}, {-1, -1, 1}}, no_waits(3), 0, 0, 100);
  table.feed(path, 100);
  const PathPieces pieces = path.take();
  const std::vector<int32_t> threads = {0, 2, 1, 0};
  CHECK(is_partition(pieces, 0, 100));
  CHECK(pieces.thread == threads);
}

void an_interrupt_ends_the_chase() {
  const Table table({{0, 10, 10, 0, 0}, {1, 100, 100, 0, 0}, {0, 100, 10, 0, 80, 1, kWakerIrq}});
  CriticalPath path({{0, 0}, {-1, -1}}, no_waits(2), 0, 0, 100);
  table.feed(path, 1);
  const PathPieces pieces = path.take();
  CHECK(is_partition(pieces, 0, 100));
  CHECK(pieces.state[1] == static_cast<uint8_t>(OnPath::kInterrupted));
  CHECK(path.followed() == 0);
}

void threads_that_woke_each_other_at_one_instant_are_followed_once() {
  const Table table({{0, 50, 0, 0, 40, 1}, {1, 50, 0, 0, 30, 2}, {2, 50, 0, 0, 20, 0}});
  CriticalPath path({{0, 0, 0}, {-1, -1, -1}}, no_waits(3), 0, 0, 50);
  table.feed(path, 1);
  CHECK(is_partition(path.take(), 0, 50));
}

void slices_out_of_order_are_refused() {
  Table table({{0, 50, 10, 0, 0}});
  table.add({0, 40, 10, 0, 0});
  CriticalPath path({{0}, {-1}}, no_waits(1), 0, 0, 60);
  bool refused = false;
  try {
    table.feed(path, 10);
  } catch (const std::invalid_argument&) {
    refused = true;
  }
  CHECK(refused);
}

// Whatever the columns claim, the path partitions the span, and its length is linear in the slices.
void any_columns_give_a_partition() {
  std::mt19937_64 random(7);
  const auto upto = [&](int64_t n) { return static_cast<int64_t>(random() % static_cast<uint64_t>(n)); };
  const auto length = [&](int kind) -> int64_t {
    if (kind == 0) return upto(8);
    if (kind == 1) return 0;
    return upto(3) == 0 ? static_cast<int64_t>(random()) : upto(100);
  };
  for (int round = 0; round < 3000; ++round) {
    const auto threads = static_cast<size_t>(1 + upto(5));
    const size_t rows = static_cast<size_t>(upto(40));
    const int kind = static_cast<int>(upto(3));
    std::vector<Row> table;
    for (size_t i = 0; i < rows; ++i) {
      table.push_back({static_cast<int32_t>(upto(8) - 1), kind == 2 ? upto(2000) - 500 : upto(60), length(kind),
                       length(kind), length(kind), static_cast<int32_t>(upto(9) - 2),
                       static_cast<uint8_t>(random() & 0xff)});
    }
    PathThreads known;
    PathWaits waits = no_waits(threads);
    for (size_t i = 0; i < threads; ++i) {
      known.birth_ns.push_back(upto(4) == 0 ? upto(60) : 0);
      known.parent.push_back(static_cast<int32_t>(upto(7) - 1));
      const int64_t count = upto(4);
      for (int64_t k = 0; k < count; ++k) {
        const int64_t start = 15 * k + upto(10);
        waits.start_ns.push_back(start);
        waits.end_ns.push_back(start + upto(20));
        waits.waker.push_back(static_cast<int32_t>(upto(9) - 2));
        waits.waking_ns.push_back(start + upto(24) - 3);
      }
      waits.first[i + 1] = static_cast<int64_t>(waits.start_ns.size());
    }
    const auto thread = static_cast<int32_t>(upto(static_cast<int64_t>(threads)));
    CriticalPath path(known, waits, thread, 3, 55);
    Table(table).feed(path, static_cast<size_t>(1 + upto(9)));
    const PathPieces pieces = path.take();
    CHECK(is_partition(pieces, 3, 55));
    CHECK(pieces.size() <= 52);
    CHECK(path.followed() <= rows + threads + 1);
  }
}

}  // namespace
}  // namespace headway

int main() {
  headway::a_join_leads_through_the_slow_worker();
  headway::a_thread_that_was_born_in_the_wait_leads_to_its_parent();
  headway::an_interrupt_ends_the_chase();
  headway::threads_that_woke_each_other_at_one_instant_are_followed_once();
  headway::slices_out_of_order_are_refused();
  headway::any_columns_give_a_partition();
  return 0;
}
