#include "agent/objects/allocations.h"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "agent/core/spin.h"
#include "agent/jvm/boot_classes.h"
#include "agent/jvm/raw_monitor.h"
#include "agent/jvm/stacks.h"
#include "agent/jvm/this_jni.h"
#include "agent/jvm/thread_ids.h"
#include "agent/objects/allocation_table.h"
#include "agent/objects/class_ids.h"
#include "agent/objects/sampling_chance.h"
#include "agent/objects/sums_writer.h"
#include "agent/state/records.h"
#include "agent/state/state.h"
#include "agent/state/thread_slot.h"

namespace headway::agent {
namespace {

constexpr jint kUsualInterval = 512 * 1024;  // the JVM's own
constexpr jint kLocalRefs = 32;

struct Allocations {
  AllocationTable table;
  Sections sections;  // threads that count
  SumsWriter writer{"headway allocations"};
  std::atomic<bool> dying{false};
  uint64_t interval = 0;
  bool takes_sites = false;
};

Allocations& allocations() noexcept {
  static Allocations* const instance = new Allocations;
  return *instance;
}

// What the calling thread allocates is not the program's: each object that it is told of is noted here instead.
struct OwnThread {
  bool is_own = false;
  uint32_t seen = 0;
};
constinit thread_local OwnThread own;

void listen(bool on) {
  agent().jvmti->SetEventNotificationMode(on ? JVMTI_ENABLE : JVMTI_DISABLE, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, nullptr);
}

// One thread at a time. Returns how many bytes.
int64_t write_sums() {
  int64_t bytes = 0;
  allocations().table.write_changed([&](hw_allocation record) {
    write_allocation(record);
    bytes += static_cast<int64_t>(sizeof record);
  });
  return bytes;
}

// --- on --------------------------------------------------------------------------------------------------------------

const char* get_capability() {
  jvmtiCapabilities wanted{};
  wanted.can_generate_sampled_object_alloc_events = 1;
  const jvmtiError error = agent().jvmti->AddCapabilities(&wanted);
  if (error == JVMTI_ERROR_NONE) return nullptr;
  return error == JVMTI_ERROR_NOT_AVAILABLE ? "another agent in this JVM samples allocations"
                                            : "this JVM does not tell of allocations";
}

// The part of the heap that this thread has to itself was handed out before anybody listened: nothing is told of what is
// allocated in it. So it is used up, unless it is larger than any but a heap of some 12 GB has it. False: it was not.
bool use_up_own_buffer(JNIEnv* jni) {
  constexpr jsize kLarge = 4080, kMostLarge = 65536, kMostSmall = 1024;
  const auto allocate_until_seen = [&](jsize bytes, jsize most) {
    const uint32_t before = own.seen;
    for (; own.seen == before && most > 0; --most) {
      jbyteArray array = jni->NewByteArray(bytes);
      if (!no_exception(jni)) return false;
      jni->DeleteLocalRef(array);
    }
    return own.seen != before;
  };
  if (!allocate_until_seen(kLarge, kMostLarge)) return false;
  return allocate_until_seen(0, kMostSmall);  // the last one may lie elsewhere, with less than that left of the buffer
}

const char* turn_on(JNIEnv* jni, uint64_t interval, void (*end_silenced)() noexcept) {
  Allocations& self = allocations();
  if (const char* problem = get_capability()) return problem;
  if (const char* problem = self.writer.prepare()) return problem;
  if (!self.sections.all_left()) return "a thread has not ended counting for the recording before";
  if (!self.table.start(interval != 0)) return "no memory for the sums";
  forget_classes(jni);
  self.interval = interval;
  self.takes_sites = agent().options.object_sites && start_stacks(jni);
  // Objects are told of later.
  if (!self.writer.start(jni, {write_sums, end_silenced, [] { own.is_own = true; }, nullptr})) {
    if (self.takes_sites) end_stacks();
    return "the JVM gives the agent no thread of its own";
  }
  agent().jvmti->SetHeapSamplingInterval(0);
  listen(true);
  if (!agent().attached && !use_up_own_buffer(jni)) write_info("objects_begin", "late");
  agent().jvmti->SetHeapSamplingInterval(static_cast<jint>(interval));
  if (interval != 0) use_up_own_buffer(jni);  // one object more: what comes after it is drawn by this interval
  if (ChunkFile* file = recording()) file->will_tell_its_end();
  return nullptr;
}

}  // namespace

void JNICALL object_allocated(jvmtiEnv*, JNIEnv* jni, jthread thread, jobject object, jclass type, jlong size) {
  if (own.is_own) {
    ++own.seen;
    return;
  }
  Allocations& self = allocations();
  if (!self.writer.is_likely_on()) return;
  const Sections::Inside inside(self.sections, this_thread().tid);
  if (!self.writer.is_on() || recording() == nullptr) return;  // read after the section is entered
  const ClassId type_id = class_id_of(jni, type);
  const auto bytes = static_cast<uint64_t>(size);
  const uint64_t length =
      type_id.is_array ? static_cast<uint64_t>(jni->GetArrayLength(static_cast<jarray>(object))) : 0;
  const uint32_t site = self.takes_sites ? take_innermost_frame(jni) : 0;
  self.table.add({java_thread_id(jni, thread), type_id.id, site},
                 {bytes, length, sampling_chance(bytes, self.interval)});
}

void prepare_allocations() noexcept {
  if (agent().options.objects < 0 || get_capability() != nullptr) return;
  agent().jvmti->SetHeapSamplingInterval(agent().options.objects);
}

void begin_allocations(JNIEnv* jni, void (*end_silenced)() noexcept) noexcept {
  if (agent().options.objects < 0) return;
  const Locked alone(agent().ending);  // an end that comes now turns all of it off
  if (recording() == nullptr || jni->PushLocalFrame(kLocalRefs) != JNI_OK) return;
  own = {true, 0};
  const auto interval = static_cast<uint64_t>(agent().options.objects);
  const char* const problem = turn_on(jni, interval, end_silenced);
  write_info(problem == nullptr ? "objects_interval" : "objects_problem",
             problem == nullptr ? std::to_string(interval) : std::string(problem));
  own.is_own = false;
  jni->PopLocalFrame(nullptr);
}

void silence_allocations(bool dies) noexcept {
  Allocations& self = allocations();
  if (dies) self.dying = true;
  if (!self.writer.is_on()) return;
  const Locked alone(agent().ending);  // else another thread might release the file while the sums are written
  if (!self.writer.end()) return;
  listen(false);
  agent().jvmti->SetHeapSamplingInterval(kUsualInterval);
  self.sections.start_waiting();
  bool all_left = self.sections.all_left();
  for (int naps = 0; naps < 100 && !all_left; ++naps) {
    usleep(1000);
    all_left = self.sections.all_left();
  }
  self.writer.write_last([&] {
    write_sums();
    write_last_info("objects_end", all_left ? "complete" : "a thread still counted");
  });
  if (self.takes_sites) end_stacks();
  if (!all_left || self.dying.load()) return;
  self.table.end();
  if (JNIEnv* jni = this_jni()) forget_classes(jni);
  jvmtiCapabilities ours{};
  ours.can_generate_sampled_object_alloc_events = 1;
  agent().jvmti->RelinquishCapabilities(&ours);  // it is one agent's at a time
}

}  // namespace headway::agent
