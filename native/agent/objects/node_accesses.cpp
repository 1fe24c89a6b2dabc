#include "agent/objects/node_accesses.h"

#include <atomic>
#include <optional>

#include "agent/jvm/boot_classes.h"
#include "agent/jvm/handles.h"
#include "agent/objects/node_samples.h"
#include "agent/state/records.h"
#include "agent/state/state.h"

namespace headway::agent {
namespace {

constexpr uint32_t kOwnerMask = 0xFF, kOwnerBits = 8;

// Never destroyed: code of the program may be sampled until the process ends.
struct NodeAccesses {
  NodeSamples samples;
  AccessCounters* counters = nullptr;
  OwnerRules rules{};
  std::atomic<bool> is_on{false};
  bool works = false;
};

NodeAccesses& node_accesses() noexcept {
  static NodeAccesses* const instance = new NodeAccesses;
  return *instance;
}

thread_local std::optional<NodeSamples::Thread> own;

// --- natives ---------------------------------------------------------------------------------------------------------

jboolean JNICALL native_has_nodes(JNIEnv*, jclass) {
  return node_accesses().counters != nullptr ? JNI_TRUE : JNI_FALSE;
}

void JNICALL native_nodes_work(JNIEnv*, jclass, jboolean work) {
  node_accesses().works = work == JNI_TRUE;
  node_accesses().is_on = work == JNI_TRUE;
}

// Where an object is that the thread of a key is about to access, and how many accesses it is until the next one that is to
// be asked for. `owners`: the numbers of its owners, the first rule's in the low bits. No object: only that number.
jlong JNICALL native_sampled(JNIEnv*, jclass, jobject object, jlong offset, jint row, jlong key, jint owners,
                             jlong accesses) {
  NodeAccesses& self = node_accesses();
  if (!own) own.emplace(reinterpret_cast<uint64_t>(&own) ^ static_cast<uint64_t>(key) << 20);
  if (object != nullptr && self.is_on.load(std::memory_order_relaxed)) {
    NodeSamples::Access access;
    access.java_id = AccessCounters::java_id(key);
    access.class_id = self.counters->class_of_row(row);
    access.kind = static_cast<uint16_t>(static_cast<uint32_t>(row) % HW_OWNED_KINDS);
    access.accesses = static_cast<uint64_t>(accesses);
    access.address = address_in(object) + static_cast<uint64_t>(offset);
    const auto both = static_cast<uint32_t>(owners);
    for (size_t rule = 0; rule < kOwnerRules; ++rule) {
      access.owners[rule] = self.counters->id_of_owner(both >> (rule * kOwnerBits) & kOwnerMask);
    }
    self.samples.note(*own, access);
  }
  return static_cast<jlong>(self.samples.next_gap(*own));
}

}  // namespace

void begin_nodes(AccessCounters& counters, OwnerRules rules) noexcept {
  NodeAccesses& self = node_accesses();
  self.counters = &counters;
  self.samples.start(rules);
}

bool nodes_work() noexcept { return node_accesses().works; }

std::vector<JNINativeMethod> node_natives() {
  return {
      native_method("hasNodes", "()Z", reinterpret_cast<void*>(native_has_nodes)),
      native_method("nodesWork", "(Z)V", reinterpret_cast<void*>(native_nodes_work)),
      native_method("sampled", "(Ljava/lang/Object;JIJIJ)J", reinterpret_cast<void*>(native_sampled)),
  };
}

void end_nodes_of_thread() noexcept {
  if (!own) return;
  node_accesses().samples.end_thread(*own);
  own.reset();
}

int64_t write_nodes() noexcept {
  if (!node_accesses().works) return 0;
  const auto write = [](const hw_access_nodes& record) { write_access_nodes(record); };
  return int64_t{node_accesses().samples.write_changed(write)} * int64_t{sizeof(hw_access_nodes)};
}

void silence_nodes() noexcept { node_accesses().is_on = false; }

std::string node_coverage() {
  const NodeSamples& samples = node_accesses().samples;
  return ",node_samples_refused=" + std::to_string(samples.refused()) +
         ",node_samples_left_out=" + std::to_string(samples.left_out());
}

}  // namespace headway::agent
