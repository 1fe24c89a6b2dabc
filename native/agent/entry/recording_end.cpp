#include "agent/entry/recording_end.h"

#include <atomic>

#include "agent/causal/experiments/experiments.h"
#include "agent/entry/event_modes.h"
#include "agent/entry/lock_switch.h"
#include "agent/jvm/raw_monitor.h"
#include "agent/objects/accesses.h"
#include "agent/objects/allocations.h"
#include "agent/sampler/sampler.h"
#include "agent/state/state.h"

namespace headway::agent {
namespace {

std::atomic<int> endings{0};

// In scope while a thread ends the recording.
struct Ending {
  Ending() { endings.fetch_add(1); }
  ~Ending() { endings.fetch_sub(1); }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;
};

}  // namespace

bool is_ending() noexcept { return endings.load() > 0; }

void end_recording() noexcept {
  wake_sampler();
  causal::wake_causal();
  // Who comes second must not let go of the file while the first still writes what goes on there.
  const Locked alone(agent().ending);
  const Ending now;
  silence_accesses(false);
  silence_allocations(false);
  silence_locks();
  ChunkFile* file = agent().file.exchange(nullptr, std::memory_order_acq_rel);
  if (file == nullptr) return;
  set_event(JVMTI_EVENT_CLASS_PREPARE, false);
  set_recording_events(false, nullptr);
  file->release();  // and leaked: a thread may be about to look at it
}

bool is_still_wanted() noexcept {
  if (recording() != nullptr) return true;
  if (agent().file.load() != nullptr && !is_ending()) end_silenced();  // nobody waits here for another one's end
  return false;
}

void end_silenced() noexcept {
  const Locked alone(agent().ending);
  const ChunkFile* const file = agent().file.load();
  if (file != nullptr && !file->recording()) end_recording();
}

}  // namespace headway::agent
