#include "agent/objects/sums_writer.h"

#include <algorithm>
#include <memory>

#include "agent/core/clock.h"
#include "agent/jvm/agent_thread.h"
#include "agent/state/state.h"

namespace headway::agent {
namespace {

constexpr jlong kTickMs = 250;
constexpr int64_t kWriteNs = 1'000'000'000;
constexpr int64_t kBytesPerSecond = 64 * 1024;  // of sums that are written while the program runs
constexpr uint64_t kEighthsForSums = 6;         // of the longest file; the rest is for the last sums

struct Run {
  SumsWriter* writer;
  uint32_t generation;
};

}  // namespace

const char* SumsWriter::prepare() {
  if (monitor_ != nullptr) return nullptr;
  return agent().jvmti->CreateRawMonitor(name_, &monitor_) == JVMTI_ERROR_NONE ? nullptr : "the JVM gives no monitor";
}

bool SumsWriter::start(JNIEnv* jni, const SumsTasks& tasks) {
  tasks_ = tasks;
  auto argument = std::make_unique<Run>(Run{this, generation_.fetch_add(1) + 1});
  active_ = true;
  jthread thread = new_headway_thread(jni);
  if (thread != nullptr &&
      agent().jvmti->RunAgentThread(thread, run, argument.get(), JVMTI_THREAD_NORM_PRIORITY) == JVMTI_ERROR_NONE) {
    (void)argument.release();  // the thread's now
    return true;
  }
  active_ = false;
  return false;
}

void JNICALL SumsWriter::run(jvmtiEnv* jvmti, JNIEnv* jni, void* argument) {
  const std::unique_ptr<Run> mine(static_cast<Run*>(argument));
  SumsWriter& self = *mine->writer;
  const SumsTasks tasks = self.tasks_;
  if (tasks.begins != nullptr) tasks.begins();
  self.write_until_end(jvmti, mine->generation);
  if (tasks.ends != nullptr) tasks.ends(jni);
}

void SumsWriter::write_until_end(jvmtiEnv* jvmti, uint32_t generation) {
  const auto is_mine = [&] { return is_on() && generation_.load() == generation; };
  for (int64_t next_ns = monotonic_ns() + kWriteNs; is_mine();) {
    {
      const Locked locked(monitor_);
      if (is_mine()) jvmti->RawMonitorWait(monitor_, kTickMs);
      if (!is_mine()) return;
      const ChunkFile* const file = recording();
      if (file != nullptr && monotonic_ns() >= next_ns && !file->used_past(kEighthsForSums)) {
        const int64_t bytes = tasks_.write();
        next_ns = monotonic_ns() + std::max(kWriteNs, bytes * kWriteNs / kBytesPerSecond);
      }
    }
    if (recording() == nullptr) return tasks_.end_silenced();  // the recorder has asked for it by the word in the file
  }
}

}  // namespace headway::agent
