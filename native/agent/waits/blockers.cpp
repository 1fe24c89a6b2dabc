#include "agent/waits/blockers.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>

#include "agent/core/text.h"
#include "agent/jvm/stacks.h"
#include "agent/jvm/thread_ids.h"
#include "agent/locks/hook_cost.h"
#include "agent/locks/lock_records.h"
#include "agent/state/records.h"
#include "agent/state/state.h"
#include "agent/state/thread_slot.h"
#include "agent/waits/class_locks.h"

namespace headway::agent {
namespace {

std::atomic<LockRecords*> current{nullptr};  // leaked once ended: other threads may still be in it
uint32_t recordings = 0;
JavaVM* vm = nullptr;

constexpr int64_t kRandomHashes = 5;
bool hashes_are_random = true;  // HotSpot's -XX:hashCode=5; others give many objects the same, or go by the address

// Where an object is: a reference that is local to a thread is a pointer to a pointer to it. 0: another kind of
// reference, which HotSpot marks in the last bits; or a hash beside it would not tell objects apart.
uintptr_t address_of(jobject object) {
  constexpr uintptr_t kMarks = 7;
  const auto reference = reinterpret_cast<uintptr_t>(object);
  return object == nullptr || (reference & kMarks) != 0 || !hashes_are_random
             ? 0
             : *reinterpret_cast<const uintptr_t*>(reference);
}

LockRecords::Beginning beginning(hw_blocker_kind kind, const Blocker& blocker, uint32_t java_id, uint32_t owner,
                                 uint32_t flags) {
  return {static_cast<uint16_t>(kind),
          blocker.object,
          address_of(blocker.object),
          blocker.hash,
          blocker.class_hash,
          java_id,
          owner,
          flags,
          0};
}

class Jvm final : public JavaSide {
 public:
  explicit Jvm(JNIEnv* jni) : jni_(jni) {}

  bool same(Identity::Ref ref, Object object) noexcept override {
    return jni_->IsSameObject(reinterpret_cast<jobject>(ref), static_cast<jobject>(object)) == JNI_TRUE;
  }
  bool is_collected(Identity::Ref ref) noexcept override {
    return jni_->IsSameObject(reinterpret_cast<jobject>(ref), nullptr) == JNI_TRUE;
  }
  Identity::Ref keep_weakly(Object object) noexcept override {
    jweak ref = jni_->NewWeakGlobalRef(static_cast<jobject>(object));
    if (ref == nullptr) jni_->ExceptionClear();  // out of memory: not the program's business
    return reinterpret_cast<Identity::Ref>(ref);
  }
  void let_go(Identity::Ref ref) noexcept override { jni_->DeleteWeakGlobalRef(reinterpret_cast<jweak>(ref)); }

  Identity::Ref keep_class_weakly(Object object) noexcept override {
    jclass type = jni_->GetObjectClass(static_cast<jobject>(object));
    const Identity::Ref ref = keep_weakly(type);
    jni_->DeleteLocalRef(type);
    return ref;
  }
  bool is_of(Identity::Ref type, Object object) noexcept override {
    jclass its = jni_->GetObjectClass(static_cast<jobject>(object));
    const bool is = same(type, its);
    jni_->DeleteLocalRef(its);
    return is;
  }
  size_t class_name(Object object, char* out, size_t capacity) noexcept override {
    jclass type = jni_->GetObjectClass(static_cast<jobject>(object));
    const size_t length = name_of(type, out, capacity);
    jni_->DeleteLocalRef(type);
    return length;
  }

  size_t class_object_name(Object class_object, char* out, size_t capacity) noexcept override {
    return name_of(static_cast<jclass>(class_object), out, capacity);
  }

  size_t class_lock_name(Object int_array, char* out, size_t capacity) noexcept override {
    return headway::agent::class_lock_name(jni_, static_cast<jobject>(int_array), out, capacity);
  }

  size_t thread_name(char* out, size_t capacity) noexcept override {
    jvmtiThreadInfo info{};
    if (agent().jvmti->GetThreadInfo(nullptr, &info) != JVMTI_ERROR_NONE) return 0;
    size_t length = 0;
    if (info.name != nullptr) {
      length = to_utf8(info.name, out, capacity);
      agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(info.name));
    }
    jni_->DeleteLocalRef(info.thread_group);
    jni_->DeleteLocalRef(info.context_class_loader);
    return length;
  }

  uint32_t take_stack() noexcept override { return headway::agent::take_stack(jni_); }

  uint32_t monitor_owner(Identity::Ref ref) noexcept override {
    constexpr jint kLocalRefs = 16;
    if (jni_->PushLocalFrame(kLocalRefs) != JNI_OK) {
      jni_->ExceptionClear();
      return 0;
    }
    uint32_t owner = 0;
    jvmtiMonitorUsage usage{};
    jobject object = jni_->NewLocalRef(reinterpret_cast<jobject>(ref));
    if (object != nullptr && agent().jvmti->GetObjectMonitorUsage(object, &usage) == JVMTI_ERROR_NONE) {
      owner = static_cast<uint32_t>(java_thread_id(jni_, usage.owner));
      agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(usage.waiters));
      agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(usage.notify_waiters));
    }
    jni_->PopLocalFrame(nullptr);
    return owner;
  }

 private:
  static size_t name_of(jclass type, char* out, size_t capacity) noexcept {
    char* signature = nullptr;
    if (agent().jvmti->GetClassSignature(type, &signature, nullptr) != JVMTI_ERROR_NONE) return 0;
    const size_t length = type_name(signature, out, capacity);
    agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(signature));
    return length;
  }

  JNIEnv* jni_;
};

LockRecords* running() { return current.load(std::memory_order_acquire); }

}  // namespace

Waiting* wait_begins(JNIEnv* jni, hw_blocker_kind kind, const Blocker& blocker, uint32_t java_id, uint32_t owner,
                     uint32_t flags) noexcept {
  LockRecords* locks = running();
  if (locks == nullptr || recording() == nullptr) return nullptr;
  const HookCost::Call timed;
  Jvm java(jni);
  return reinterpret_cast<Waiting*>(
      locks->wait_begins(java, this_lock_thread(), beginning(kind, blocker, java_id, owner, flags)));
}

void wait_ends(JNIEnv*, Waiting* waiting, uint32_t flags, int64_t due_ns) noexcept {
  LockRecords* locks = running();
  if (locks == nullptr || waiting == nullptr) return;
  const HookCost::Call timed;
  locks->wait_ends(this_lock_thread(), reinterpret_cast<Waits::Handle>(waiting), flags, due_ns);
}

LockRecording* lock_recording() noexcept { return reinterpret_cast<LockRecording*>(running()); }

Waiting* seen_to_wait(JNIEnv* jni, LockRecording* into, const Blocker& blocker, uint32_t java_id, uint32_t owner,
                      uint32_t flags, uint32_t stack_id) noexcept {
  auto* locks = reinterpret_cast<LockRecords*>(into);  // leaked once ended, and records nothing then
  if (locks == nullptr || locks != running() || recording() == nullptr) return nullptr;
  Jvm java(jni);
  LockRecords::Beginning it = beginning(HW_BK_PARK, blocker, java_id, owner, flags);
  it.stack_id = stack_id;
  return reinterpret_cast<Waiting*>(locks->wait_begins(java, this_lock_thread(), it));
}

bool wait_goes_on(Waiting* waiting) noexcept {
  LockRecords* locks = running();
  return locks != nullptr && waiting != nullptr && locks->goes_on(reinterpret_cast<Waits::Handle>(waiting));
}

void waking(JNIEnv* jni, uint32_t target, uint32_t java_id) noexcept {
  LockRecords* locks = running();
  if (locks == nullptr) return;
  const HookCost::Call timed;
  Jvm java(jni);
  locks->waking(java, this_lock_thread(), target, java_id);
}

void held(JNIEnv* jni, const Blocker& synchroniser, uint32_t java_id, int64_t start_ns, int64_t end_ns) noexcept {
  LockRecords* locks = running();
  if (locks == nullptr) return;
  const HookCost::Call timed;
  Jvm java(jni);
  locks->held(java, this_lock_thread(),
              {synchroniser.object, address_of(synchroniser.object), synchroniser.hash, java_id, start_ns, end_ns});
}

void not_timed(uint32_t holds) noexcept {
  if (LockRecords* locks = running()) locks->not_timed(holds);
}

void waiter_dies(uint32_t java_id) noexcept {
  if (LockRecords* locks = running()) locks->waiter_dies(this_lock_thread(), java_id);
}

void poll_blockers(JNIEnv* jni) noexcept {
  LockRecords* locks = running();
  if (locks == nullptr) return;
  Jvm java(jni);
  locks->poll(java, this_lock_thread(), agent().collections.load(std::memory_order_relaxed));
}

bool start_lock_records(JNIEnv* jni) noexcept {
  ChunkFile* file = recording();
  if (file == nullptr || running() != nullptr || jni->GetJavaVM(&vm) != JNI_OK) return false;
  hashes_are_random = agent().hotspot.int_flag("hashCode").value_or(kRandomHashes) == kRandomHashes;
  const Options& asked = agent().options;
  LockRecords::Options options;
  options.park_threshold = static_cast<uint32_t>(std::max(asked.park_threshold, 0));
  options.forget_dead = asked.forget_dead;
  options.no_map = asked.no_map;
  start_class_locks();
  HookCost::start();
  auto locks = std::make_unique<LockRecords>();
  if (!locks->start(*file, getpid(), ++recordings, options)) return false;
  current.store(locks.release(), std::memory_order_release);
  return true;
}

void end_lock_records() noexcept {
  LockRecords* locks = current.exchange(nullptr, std::memory_order_acq_rel);
  if (locks == nullptr) return;
  void* env = nullptr;
  jvmtiPhase phase{};
  // As the JVM goes, giving thousands of references back one by one would only delay it.
  const bool lives = agent().jvmti->GetPhase(&phase) == JVMTI_ERROR_NONE && phase == JVMTI_PHASE_LIVE &&
                     vm->GetEnv(&env, JNI_VERSION_1_8) == JNI_OK;
  Jvm java(static_cast<JNIEnv*>(env));
  jvmtiCapabilities capabilities{};
  capabilities.can_get_monitor_info = 1;  // only now: it is not for everyday use; without it no question is answered
  const bool asks = lives && !agent().options.no_owners;
  const bool added = asks && agent().jvmti->AddCapabilities(&capabilities) == JVMTI_ERROR_NONE;
  locks->end(lives ? &java : nullptr, this_lock_thread());
  if (added) agent().jvmti->RelinquishCapabilities(&capabilities);
  write_info("locks.hooks_ns", std::to_string(HookCost::total_ns()));
  write_info("locks.hooks_timed", std::to_string(HookCost::timed()));
}

}  // namespace headway::agent
