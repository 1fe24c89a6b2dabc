#include "agent/causal/experiments/lost_files.h"

#include <string>

#include "agent/causal/common/notes.h"
#include "agent/causal/sampling/sampled_threads.h"

namespace headway::agent::causal {
namespace {

constexpr uint32_t kMostThreads = 2048;  // looked at in one round

struct Round {
  uint32_t mended = 0;
};

bool mend(Sampled& thread, void* context) {
  // Its handler must not meet half a timer; where it runs just now, the next round is soon enough.
  if (!is_lost(thread.timer) || thread.is_inside.exchange(true)) return true;
  stop_timer(thread.timer);
  thread.timer = start_timer(thread.tid.load(std::memory_order_relaxed));
  thread.first_period_ns = thread.timer.period_ns;
  thread.is_inside.store(false);
  ++static_cast<Round*>(context)->mended;
  return true;
}

bool is_one_lost(Sampled& thread, void* context) {
  *static_cast<bool*>(context) = is_lost(thread.timer);
  return !*static_cast<bool*>(context);
}

}  // namespace

void poll_files() noexcept {
  static uint32_t position = 0;
  static uint32_t rounds = 0;    // in which timers were lost
  static uint32_t reopened = 0;  // how often the notes were, when that was last reported
  bool is_any = false;
  each_sampled(&position, kMostThreads, is_one_lost, &is_any);
  Round round;
  if (is_any) {
    if (++rounds > 1) avoid_descriptors();  // it does so again and again
    each_sampled(&position, kMostThreads, mend, &round);
  }
  const bool are_notes_new = reopened_notes() != reopened;
  reopened = reopened_notes();
  if (round.mended == 0 && !are_notes_new) return;
  problem("HW641", "the program has closed descriptors that it knows nothing of: " + std::to_string(round.mended) +
                       " timers of threads" + (are_notes_new ? " and the file of notes" : "") + " were opened again");
}

}  // namespace headway::agent::causal
