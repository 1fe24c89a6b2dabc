// Where the word lies by which the JVM stops a thread, found in memory that is made here.
#include "agent/hotspot/stop_word.h"

#include <array>
#include <vector>

#include "testing/check.h"

using namespace headway::agent;

namespace {

constexpr uintptr_t kAtRest = ~uintptr_t{1};
constexpr uintptr_t kGoodPage = 0x7f0000000000;
constexpr uintptr_t kBadPage = 0x7f0000001000;

// As much memory as a JavaThread has, in words.
using Thread = std::array<uintptr_t, StopWord::kBytes / sizeof(uintptr_t)>;

Thread thread_with(size_t at, uintptr_t word, uintptr_t page) {
  Thread thread{};
  thread[3] = kAtRest;  // something else that happens to look so, with no page behind it
  thread[at] = word;
  thread[at + 1] = page;
  return thread;
}

std::vector<int64_t> addresses(const std::vector<Thread>& threads) {
  std::vector<int64_t> all;
  all.reserve(threads.size());
  for (const Thread& thread : threads) all.push_back(reinterpret_cast<int64_t>(thread.data()));
  return all;
}

void it_is_found_where_threads_at_rest_agree() {
  std::vector<Thread> threads(3, thread_with(104, kAtRest, kGoodPage));
  threads.push_back(thread_with(104, 1, kBadPage));     // is to stop just now
  threads.push_back(thread_with(77, kAtRest, 0x5000));  // no thread any more
  StopWord word;
  std::vector<int64_t> all = addresses(threads);
  all.push_back(0);
  all.push_back(8);  // nothing is mapped there
  CHECK(word.find(all));
  CHECK(!StopWord::is_marked(word.of(all[0])));
  CHECK(StopWord::is_marked(word.of(all[3])));
  CHECK(word.of(0) == nullptr);
}

void it_is_unknown_where_nothing_or_more_than_one_thing_looks_so() {
  StopWord word;
  CHECK(!word.find({}));
  const std::vector<Thread> one(1, thread_with(104, kAtRest, kGoodPage));
  CHECK(!word.find(addresses(one)));
  std::vector<Thread> two(2, thread_with(104, kAtRest, kGoodPage));
  for (Thread& thread : two) {
    thread[50] = kAtRest;
    thread[51] = kBadPage;
  }
  CHECK(!word.find(addresses(two)));
  CHECK(word.of(addresses(two)[0]) == nullptr);
  CHECK(!StopWord::is_marked(nullptr));
}

}  // namespace

int main() {
  it_is_found_where_threads_at_rest_agree();
  it_is_unknown_where_nothing_or_more_than_one_thing_looks_so();
}
