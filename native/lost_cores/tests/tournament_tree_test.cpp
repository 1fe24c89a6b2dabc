// The next change of all threads against looking at each of them.
#include "lost_cores/tournament_tree.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "testing/check.h"

namespace headway {
namespace {

void the_top_is_the_latest_of_all_however_they_move(size_t threads, unsigned seed) {
  std::mt19937 random(seed);
  TournamentTree times(threads);
  std::vector<int64_t> each(threads, TournamentTree::kNever);
  for (int step = 0; step < 2000; ++step) {
    const auto thread = static_cast<uint32_t>(random() % threads);
    each[thread] = random() % 4 == 0 ? TournamentTree::kNever : static_cast<int64_t>(random() % 50) - 25;
    times.set(thread, each[thread]);
    CHECK_EQUAL(times.top_ns(), *std::max_element(each.begin(), each.end()));
    if (times.top_ns() != TournamentTree::kNever) CHECK_EQUAL(each[times.top()], times.top_ns());
  }
}

void without_threads_nothing_ever_changes() {
  const TournamentTree times(0);
  CHECK_EQUAL(times.threads(), size_t{0});
  CHECK_EQUAL(times.top_ns(), TournamentTree::kNever);
}

}  // namespace
}  // namespace headway

int main() {
  for (unsigned threads = 1; threads <= 40; ++threads) {
    headway::the_top_is_the_latest_of_all_however_they_move(threads, threads);
  }
  headway::without_threads_nothing_ever_changes();
  return 0;
}
