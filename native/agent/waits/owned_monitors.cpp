#include "agent/waits/owned_monitors.h"

#include <array>
#include <atomic>
#include <mutex>
#include <new>
#include <utility>

#include "agent/core/spin.h"
#include "agent/jvm/boot_classes.h"

namespace headway::agent {
namespace {

// By thread id; of two threads with one place the later one keeps it, so that this never grows.
constexpr uint32_t kPlaces = 4096;

struct Entered {
  uint32_t java_id = 0;  // 0: nobody
  jweak monitor = nullptr;
};

struct Place {
  SpinLock lock;
  Entered entered;
};

std::array<Place, kPlaces> places;

Place& place_of(uint32_t java_id) { return places[java_id % kPlaces]; }

Entered exchange(Place& place, const Entered& entered) {
  const std::lock_guard<SpinLock> guard(place.lock);
  return std::exchange(place.entered, entered);
}

// Takes out what the thread has, and nobody else's.
Entered take(uint32_t java_id) {
  Place& place = place_of(java_id);
  const std::lock_guard<SpinLock> guard(place.lock);
  return place.entered.java_id == java_id ? std::exchange(place.entered, Entered{}) : Entered{};
}

void put(JNIEnv* jni, const Entered& entered) {
  const Entered before = exchange(place_of(entered.java_id), entered);
  if (before.monitor != nullptr) jni->DeleteWeakGlobalRef(before.monitor);
}

// java.lang.Thread.holdsLock, which is about the calling thread.
struct HoldsLock {
  jclass type;
  jmethodID method;
};

std::atomic<const HoldsLock*> holds_lock{nullptr};

const HoldsLock* find_holds_lock(JNIEnv* jni) {
  if (const HoldsLock* known = holds_lock.load(std::memory_order_acquire)) return known;
  jclass type = boot_class(jni, "java/lang/Thread");
  if (type == nullptr) return nullptr;
  jmethodID method = jni->GetStaticMethodID(type, "holdsLock", "(Ljava/lang/Object;)Z");
  jobject kept = no_exception(jni) && method != nullptr ? jni->NewGlobalRef(type) : nullptr;
  jni->DeleteLocalRef(type);
  if (kept == nullptr) return nullptr;
  const auto* found = new (std::nothrow) HoldsLock{static_cast<jclass>(kept), method};  // for the process's life
  const HoldsLock* other = nullptr;
  if (found != nullptr && holds_lock.compare_exchange_strong(other, found, std::memory_order_acq_rel)) return found;
  jni->DeleteGlobalRef(kept);
  delete found;
  return other;
}

bool owns(JNIEnv* jni, jobject monitor) {
  const HoldsLock* asked = holds_lock.load(std::memory_order_acquire);
  if (asked == nullptr) return false;
  const bool is_owner = jni->CallStaticBooleanMethod(asked->type, asked->method, monitor) == JNI_TRUE;
  return no_exception(jni) && is_owner;
}

}  // namespace

void note_entered(JNIEnv* jni, uint32_t java_id, jobject monitor) noexcept {
  if (java_id == 0 || monitor == nullptr || find_holds_lock(jni) == nullptr) return;
  jweak kept = jni->NewWeakGlobalRef(monitor);
  if (!no_exception(jni) || kept == nullptr) return;
  put(jni, {java_id, kept});
}

bool owns_entered(JNIEnv* jni, uint32_t java_id, jobject on) noexcept {
  if (java_id == 0) return false;
  const Entered entered = take(java_id);
  if (entered.monitor == nullptr) return false;
  jobject monitor = jni->NewLocalRef(entered.monitor);
  const bool is_owner = monitor != nullptr && owns(jni, monitor);
  // Object.wait lets it go, and has it back at its end: it is still what the thread entered last.
  const bool waits_on_it = is_owner && jni->IsSameObject(monitor, on) == JNI_TRUE;
  if (monitor != nullptr) jni->DeleteLocalRef(monitor);
  if (is_owner) {
    put(jni, entered);
  } else {
    jni->DeleteWeakGlobalRef(entered.monitor);
  }
  return is_owner && !waits_on_it;
}

void forget_entered(JNIEnv* jni) noexcept {
  for (Place& place : places) {
    const Entered before = exchange(place, {});
    if (before.monitor != nullptr) jni->DeleteWeakGlobalRef(before.monitor);
  }
}

}  // namespace headway::agent
