// Waits in progress against a plain list of them: nested ones, threads whose cell another one uses, ends in vain.
#include "agent/locks/waiting.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <vector>

#include "testing/check.h"

namespace headway::agent {
namespace {

struct Known {
  Wait wait;
  Waits::Handle handle;
};

// What Waits promises, one thread at a time and slowly: the newest wait is at the end.
class Model {
 public:
  // The wait that this beginning shows to be over.
  std::optional<Wait> begin(const Wait& wait, Waits::Handle handle) {
    std::optional<Wait> over;
    if (const auto found = over_by(wait); found != all_.end()) {
      over = found->wait;
      all_.erase(found);
    }
    all_.push_back({wait, handle});
    return over;
  }
  std::optional<Wait> end(Waits::Handle handle) {
    return take_if([handle](const Known& it) { return it.handle == handle; });
  }
  std::optional<Wait> take(uint32_t java_id) {
    return take_if([java_id](const Known& it) { return java_id != 0 && it.wait.java_id == java_id; });
  }
  // The newest park of the thread, if nobody has woken it yet.
  Known* to_wake(uint32_t target) {
    const auto is_its = [target](const Known& it) { return it.wait.java_id == target && it.wait.kind == HW_BK_PARK; };
    const auto found = std::find_if(all_.rbegin(), all_.rend(), is_its);
    return target == 0 || found == all_.rend() || found->wait.waking_ns != 0 ? nullptr : &*found;
  }
  bool goes_on(Waits::Handle handle) const {
    return std::any_of(all_.begin(), all_.end(), [handle](const Known& it) { return it.handle == handle; });
  }
  bool waits(uint32_t java_id) const {
    const auto is_its = [java_id](const Known& it) { return java_id != 0 && it.wait.java_id == java_id; };
    return std::any_of(all_.begin(), all_.end(), is_its);
  }
  size_t count() const { return all_.size(); }

 private:
  std::vector<Known>::iterator over_by(const Wait& wait) {
    if (wait.java_id == 0) return all_.end();
    const auto is_its = [&](const Known& it) { return it.wait.java_id == wait.java_id; };
    const auto is_seen = [&](const Known& it) { return is_its(it) && (it.wait.flags & HW_BL_ATTACHED) != 0; };
    if (const auto seen = std::find_if(all_.begin(), all_.end(), is_seen); seen != all_.end()) return seen;
    const auto nested = std::count_if(all_.begin(), all_.end(), is_its);
    return nested >= Waits::kMostNested ? std::find_if(all_.begin(), all_.end(), is_its) : all_.end();
  }
  template <typename Fits>
  std::optional<Wait> take_if(const Fits& fits) {
    const auto found = std::find_if(all_.rbegin(), all_.rend(), fits);
    if (found == all_.rend()) return {};
    const Wait wait = found->wait;
    all_.erase(std::next(found).base());
    return wait;
  }
  std::vector<Known> all_;
};

void check_same(const Wait& found, const Wait& expected) {
  CHECK_EQUAL(found.java_id, expected.java_id);
  CHECK_EQUAL(found.slot, expected.slot);
  CHECK_EQUAL(found.kind, expected.kind);
  CHECK_EQUAL(found.flags, expected.flags);
  CHECK_EQUAL(found.waking_ns, expected.waking_ns);
  CHECK_EQUAL(found.waker_java_id, expected.waker_java_id);
  CHECK_EQUAL(found.waker_stack_id, expected.waker_stack_id);
}

// Some have no cell (0 and 4096), some share one (1, 4097 and 8193), some share a part of the table (65).
constexpr uint32_t kIds[] = {0, 1, 65, 4096, 4097, 8193, 70000};

class Steps {
 public:
  explicit Steps(uint32_t seed) : random_(seed) { CHECK(waits_->reserve(seed)); }

  void begin() {
    Wait wait{};
    wait.java_id = kIds[random_() % std::size(kIds)];
    wait.slot = ++last_;
    wait.kind = static_cast<uint16_t>(random_() % 3 == 0 ? HW_BK_MONITOR : HW_BK_PARK);
    wait.flags = random_() % 8 == 0 ? HW_BL_ATTACHED : 0;
    Wait over{};
    const Waits::Handle handle = waits_->begin(wait, over);
    CHECK(handle != 0);
    const std::optional<Wait> expected = model_.begin(wait, handle);
    CHECK_EQUAL(over.kind != 0, expected.has_value());
    if (expected) check_same(over, *expected);
    handles_.push_back(handle);
  }
  void end() {  // of any that ever was: most are over
    if (handles_.empty()) return;
    const Waits::Handle handle = handles_[handles_.size() - 1 - random_() % std::min<size_t>(handles_.size(), 12)];
    Wait wait{};
    const bool ended = waits_->end(handle, wait);
    const std::optional<Wait> expected = model_.end(handle);
    CHECK_EQUAL(ended, expected.has_value());
    if (expected) check_same(wait, *expected);
  }
  void wake() {
    const uint32_t target = kIds[random_() % std::size(kIds)];
    ++last_;
    const Waits::Woken woken = waits_->wake(target, last_, last_);
    Known* const its = model_.to_wake(target);
    CHECK_EQUAL(woken.handle, its == nullptr ? 0 : its->handle);
    CHECK_EQUAL(woken.ends_with_it, its != nullptr && (its->wait.flags & HW_BL_ATTACHED) != 0);
    if (its == nullptr) return;
    its->wait.waker_java_id = last_;
    its->wait.waking_ns = last_;
    its->wait.waker_stack_id = last_;
    waits_->set_waker_stack(woken.handle, last_);
  }
  void take() {
    const uint32_t java_id = kIds[random_() % std::size(kIds)];
    Wait wait{};
    const bool taken = waits_->take(java_id, wait);
    const std::optional<Wait> expected = model_.take(java_id);
    CHECK_EQUAL(taken, expected.has_value());
    if (expected) check_same(wait, *expected);
  }
  void ask() {
    const uint32_t java_id = kIds[random_() % std::size(kIds)];
    CHECK_EQUAL(waits_->waits(java_id), model_.waits(java_id));
    if (handles_.empty()) return;
    const Waits::Handle handle = handles_[handles_.size() - 1 - random_() % std::min<size_t>(handles_.size(), 12)];
    CHECK_EQUAL(waits_->goes_on(handle), model_.goes_on(handle));
  }
  void any_step() {
    const uint32_t which = random_() % 32;
    if (which < 14) {
      begin();
    } else if (which < 24) {
      end();
    } else if (which < 31) {
      wake();
    } else {
      take();
    }
    CHECK_EQUAL(waits_->count(), model_.count());
    ask();
  }
  // No wait begins or ends any more, and each of those that were left is given once.
  void close() {
    waits_->close();
    Wait wait{};
    wait.java_id = kIds[random_() % std::size(kIds)];
    wait.kind = HW_BK_PARK;
    Wait over{};
    CHECK_EQUAL(waits_->begin(wait, over), 0u);
    for (const Waits::Handle handle : handles_) CHECK(!waits_->end(handle, wait));
    for (const uint32_t id : kIds) CHECK(!waits_->take(id, wait));
    std::vector<uint32_t> left;
    while (waits_->take_any(wait)) left.push_back(wait.slot);
    std::sort(left.begin(), left.end());
    CHECK(std::adjacent_find(left.begin(), left.end()) == left.end());
    CHECK_EQUAL(left.size(), model_.count());
    CHECK_EQUAL(waits_->count(), 0u);
  }

 private:
  std::unique_ptr<Waits> waits_ = std::make_unique<Waits>();
  Model model_;
  std::mt19937 random_;
  uint32_t last_ = 0;
  std::vector<Waits::Handle> handles_;
};

void every_step_is_that_of_a_plain_list() {
  for (uint32_t seed = 1; seed <= 40; ++seed) {
    Steps steps(seed);
    for (int i = 0; i < 2000; ++i) steps.any_step();
    steps.close();
  }
}

// Two threads use one cell, and are woken by a third all the time.
void each_wait_of_threads_that_share_a_cell_ends_once() {
  const auto waits = std::make_unique<Waits>();
  CHECK(waits->reserve(1));
  constexpr uint32_t kRounds = 4'000;
  std::atomic<int> going_on{3};
  std::atomic<uint64_t> woken{0};
  std::vector<std::thread> threads;
  for (const uint32_t java_id : {5U, 5U + 4096, 5U + 2 * 4096}) {
    threads.emplace_back([&, java_id] {
      for (uint32_t i = 1; i <= kRounds; ++i) {
        Wait wait{};
        wait.java_id = java_id;
        wait.slot = i;
        wait.kind = HW_BK_PARK;
        Wait over{};
        const Waits::Handle handle = waits->begin(wait, over);
        CHECK(handle != 0 && over.kind == 0);
        if (i % 16 == 0) std::this_thread::yield();
        Wait ended{};
        CHECK(waits->end(handle, ended));
        CHECK(ended.java_id == java_id && ended.slot == i);
        CHECK(ended.waker_java_id == (ended.waking_ns == 0 ? 0 : java_id + 1));
        if (ended.waking_ns != 0) ++woken;
        CHECK(!waits->end(handle, ended));
      }
      --going_on;
    });
  }
  uint64_t told = 0;
  while (going_on > 0) {
    for (const uint32_t java_id : {5U, 5U + 4096, 5U + 2 * 4096}) {
      if (waits->wake(java_id, java_id + 1, 1).handle != 0) ++told;
    }
  }
  for (auto& thread : threads) thread.join();
  CHECK_EQUAL(told, woken.load());
  CHECK_EQUAL(waits->count(), 0u);
}

}  // namespace
}  // namespace headway::agent

int main() {
  using namespace headway::agent;
  every_step_is_that_of_a_plain_list();
  each_wait_of_threads_that_share_a_cell_ends_once();
}
