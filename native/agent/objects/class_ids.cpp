#include "agent/objects/class_ids.h"

#include <jvmti.h>

#include <array>
#include <atomic>
#include <string>
#include <string_view>

#include "agent/core/id_table.h"
#include "agent/core/spin.h"
#include "agent/core/text.h"
#include "agent/jvm/identity_hash.h"
#include "agent/state/records.h"
#include "agent/state/state.h"

namespace headway::agent {
namespace {

constexpr uint32_t kPlaces = 1U << 17;  // of classes beyond those that find one each object is named anew
constexpr uint32_t kWindow = 64;
constexpr size_t kNameBytes = 1024;

enum State : uint32_t { kFree, kBeingTaken, kReady };

struct KnownClass {
  std::atomic<uint32_t> state;
  uint32_t hash;
  ClassId number;
  jweak reference;
};

// In zero pages that nobody has touched until allocations are recorded.
struct Tables {
  std::array<KnownClass, kPlaces> classes{};
  IdNumbers by_name;
};
constinit Tables tables;

ClassId named(jclass type) {
  char* signature = nullptr;
  if (agent().jvmti->GetClassSignature(type, &signature, nullptr) != JVMTI_ERROR_NONE || signature == nullptr)
    return {};
  char name[kNameBytes];
  const size_t bytes = type_name(signature, name, sizeof(name));
  const ClassId number{id_of_text({name, bytes}), signature[0] == '['};
  agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(signature));
  return number;
}

// Leaves the place free again where the JVM gives no reference: the class is named anew each time then.
void take(JNIEnv* jni, KnownClass& place, uint32_t hash, jclass type, ClassId number) {
  jweak reference = jni->NewWeakGlobalRef(type);
  if (reference == nullptr) {
    if (jni->ExceptionCheck()) jni->ExceptionClear();
    place.state.store(kFree, std::memory_order_release);
    return;
  }
  place.hash = hash;
  place.number = number;
  place.reference = reference;
  place.state.store(kReady, std::memory_order_release);
}

}  // namespace

// Two threads that meet a class at the same time may give it two places: both have its number.
ClassId class_id_of(JNIEnv* jni, jclass type) noexcept {
  const uint32_t hash = identity_hash(type);
  const uint64_t begin = mix(0, hash);
  for (uint32_t step = 0; step < kWindow; ++step) {
    KnownClass& place = tables.classes[(begin + step) % kPlaces];
    uint32_t state = place.state.load(std::memory_order_acquire);
    if (state == kReady) {
      if (place.hash == hash && jni->IsSameObject(place.reference, type) == JNI_TRUE) return place.number;
    } else if (state == kFree && place.state.compare_exchange_strong(state, kBeingTaken, std::memory_order_acquire)) {
      const ClassId number = named(type);
      take(jni, place, hash, type, number);
      return number;
    }
  }
  return named(type);
}

uint32_t class_id_of_name(std::string_view internal_name) noexcept {
  const std::string signature = 'L' + std::string(internal_name) + ';';
  char name[kNameBytes];
  return id_of_text({name, type_name(signature, name, sizeof(name))});
}

uint32_t id_of_text(std::string_view text) noexcept {
  const auto [id, is_new] = tables.by_name.of(mix(0, text));
  if (is_new) write_java_class(id, text);
  return id;
}

void forget_classes(JNIEnv* jni) noexcept {
  for (KnownClass& place : tables.classes) {
    if (place.state.load(std::memory_order_acquire) == kFree) continue;
    jni->DeleteWeakGlobalRef(place.reference);
    place.state.store(kFree, std::memory_order_release);
  }
  tables.by_name.clear();
}

}  // namespace headway::agent
