// See docs/decisions/0005-locks.md.
//
// Classes are retransformed with our ClassFileLoadHook enabled around that only: enabled all the time it would make the
// JVM read the bytes of every class that it otherwise maps from its class-data archive. So another agent's
// retransformation of the same classes throws our call sites out, and poll_hooks puts them in again.
#include "agent/hooks/jdk_hooks.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "agent/classfile/class_insert.h"
#include "agent/classfile/class_patch.h"
#include "agent/core/clock.h"
#include "agent/hooks/hook_sites.h"
#include "agent/hooks/listeners.h"
#include "agent/jvm/boot_classes.h"
#include "agent/jvm/raw_monitor.h"
#include "agent/state/records.h"
#include "agent/state/state.h"
#include "hook_class.h"

namespace headway::agent {
namespace {

constexpr int kMostReinstalls = 1000;  // another agent that undoes us again and again wins in the end

// A class that is retransformed, and the methods of it that show whether our call sites are still in.
struct Target {
  const char* name;
  std::span<const CallSite> sites;  // redirected
  std::span<const Insert> calls;    // added
  std::array<std::string_view, 4> probes;
  jclass type = nullptr;  // global reference; null: not there
  std::vector<jmethodID> methods{};
  uint64_t fingerprint = 0;  // of the bytecodes of `methods`, with our call sites
  PatchOutcome outcome = PatchOutcome::kMalformed;
  bool patched = false;
};

// Never destroyed, like the agent.
struct Hooks {
  std::array<Target, 3> targets{
      {{"java/util/concurrent/locks/LockSupport", kLockSupportSites, {}, {"park", "unpark", "parkNanos", "parkUntil"}},
       {kSynchroniser, {}, kOwnerCalls, {"setExclusiveOwnerThread"}},
       {"java/lang/VirtualThread", kPinnedSites, {}, {"parkOnCarrierThread", "sleepNanos"}}}};
  BootClass own{"jdk/internal/misc/HeadwayHook", kHookClassFile, {}};
  jclass hook = nullptr;  // that class, once its fields are set up
  jfieldID on = nullptr;
  jfieldID causal = nullptr;
  jmethodID tell_all_holds = nullptr;
  jmethodID forget_holds = nullptr;
  std::atomic<uint32_t> untimed{0};  // what the hook class has said of it
  jrawMonitorID lock = nullptr;      // one thread installs, removes or looks at a time
  uint8_t uses = 0;                  // of HookUse; while any, the call sites are in
  int reinstalls = 0;
  int64_t seen_ns = 0;  // when our call sites were last seen in place
  const char* problem = "";
};
Hooks& hooks() {
  static Hooks* const instance = new Hooks;
  return *instance;
}

thread_local bool retransforming = false;

jrawMonitorID monitor() {
  if (hooks().lock == nullptr) agent().jvmti->CreateRawMonitor("headway hooks", &hooks().lock);
  return hooks().lock;
}

bool failed(const char* problem) {
  hooks().problem = problem;
  return false;
}

// --- what the hook class calls ---------------------------------------------------------------------------------------

std::span<const JNINativeMethod> natives() {
  const auto native = [](const char* name, const char* descriptor, auto* function) {
    return native_method(name, descriptor, reinterpret_cast<void*>(function));
  };
  static const LockListener& locks = *listeners().locks;
  static const CausalListener& causal = *listeners().causal;
  static const JNINativeMethod methods[] = {
      native("begin", "(Ljava/lang/Object;IIIII)J", locks.begin),
      native("end", "(JIJ)V", locks.end),
      native("wakes", "(II)V", locks.wakes),
      native("held", "(Ljava/lang/Object;IIJJ)V", locks.held),
      native("parkBegins", "(IZ)Z", causal.park_begins),
      native("parkEnds", "(IZ)V", causal.park_ends),
      native("unparks", "(I)V", causal.unparks),
      native("releases", "()V", causal.releases),
  };
  return methods;
}

// --- the hook class --------------------------------------------------------------------------------------------------

// Unsafe.arrayBaseOffset(long[].class), which is an int in JDK 17 and a long in JDK 25. -1: neither.
jlong array_base(JNIEnv* jni, jclass unsafe_type, jobject unsafe) {
  jclass longs = jni->FindClass("[J");
  if (!no_exception(jni)) return -1;
  jlong base = -1;
  if (jmethodID wide = jni->GetMethodID(unsafe_type, "arrayBaseOffset", "(Ljava/lang/Class;)J")) {
    base = jni->CallLongMethod(unsafe, wide, longs);
  } else {
    jni->ExceptionClear();
    jmethodID narrow = jni->GetMethodID(unsafe_type, "arrayBaseOffset", "(Ljava/lang/Class;)I");
    if (narrow != nullptr) base = jni->CallIntMethod(unsafe, narrow, longs);
  }
  return no_exception(jni) ? base : -1;
}

bool set_up(JNIEnv* jni) {
  Hooks& self = hooks();
  const jclass type = self.own.type;
  const TheUnsafe unsafe = the_unsafe(jni);
  const jlong longs_at = unsafe.object == nullptr ? -1 : array_base(jni, unsafe.type, unsafe.object);
  jfieldID longs_field = no_exception(jni) ? jni->GetStaticFieldID(type, "longsAt", "J") : nullptr;
  self.on = no_exception(jni) ? jni->GetStaticFieldID(type, "on", "Z") : nullptr;
  self.causal = no_exception(jni) ? jni->GetStaticFieldID(type, "causal", "Z") : nullptr;
  self.tell_all_holds = no_exception(jni) ? jni->GetStaticMethodID(type, "tellAllHolds", "()I") : nullptr;
  self.forget_holds = no_exception(jni) ? jni->GetStaticMethodID(type, "forgetHolds", "()V") : nullptr;
  if (!no_exception(jni) || longs_at < 0 || self.on == nullptr || self.causal == nullptr) return false;
  jni->SetStaticLongField(type, longs_field, longs_at);
  self.hook = type;
  return true;
}

bool define_hook(JNIEnv* jni) {
  Hooks& self = hooks();
  if (self.hook != nullptr) return true;
  self.own.natives = natives();
  if (const char* const problem = define_boot_class(jni, self.own)) return failed(problem);
  return set_up(jni) || failed("the hook class could not be set up");
}

// --- the call sites --------------------------------------------------------------------------------------------------

void find_probes(Target& target) {
  jint count = 0;
  jmethodID* methods = nullptr;
  target.methods.clear();
  jvmtiEnv* jvmti = agent().jvmti;
  if (jvmti->GetClassMethods(target.type, &count, &methods) != JVMTI_ERROR_NONE) return;
  for (jint i = 0; i < count; ++i) {
    char* name = nullptr;
    if (jvmti->GetMethodName(methods[i], &name, nullptr, nullptr) != JVMTI_ERROR_NONE) continue;
    const auto is_it = [name](std::string_view probe) { return probe == name; };
    if (std::ranges::any_of(target.probes, is_it)) target.methods.push_back(methods[i]);
    jvmti->Deallocate(reinterpret_cast<unsigned char*>(name));
  }
  jvmti->Deallocate(reinterpret_cast<unsigned char*>(methods));
}

// Of the bytecodes as they are now. Every redefinition changes them, because constants get other numbers.
uint64_t fingerprint(const Target& target) {
  uint64_t value = 14695981039346656037ULL;
  for (const jmethodID method : target.methods) {
    jint length = 0;
    unsigned char* code = nullptr;
    if (agent().jvmti->GetBytecodes(method, &length, &code) != JVMTI_ERROR_NONE) return 0;
    for (jint i = 0; i < length; ++i) value = (value ^ code[i]) * 1099511628211ULL;
    agent().jvmti->Deallocate(code);
  }
  return value;
}

// A class that JDK 25 maps from its class-data archive brings resolved calls along: loaded after a redefinition, it
// goes on calling the method as it was (at least in the interpreter). So the JDK's callers of setExclusiveOwnerThread
// are loaded before; their calls are then adjusted with all others.
void load_callers(JNIEnv* jni) {
  for (const char* name :
       {"java/util/concurrent/locks/ReentrantLock$Sync", "java/util/concurrent/locks/ReentrantLock$NonfairSync",
        "java/util/concurrent/locks/ReentrantLock$FairSync", "java/util/concurrent/locks/ReentrantReadWriteLock$Sync",
        "java/util/concurrent/locks/ReentrantReadWriteLock$NonfairSync",
        "java/util/concurrent/locks/ReentrantReadWriteLock$FairSync",
        "java/util/concurrent/ThreadPoolExecutor$Worker"}) {
    jni->DeleteLocalRef(boot_class(jni, name));
  }
}

bool find_targets(JNIEnv* jni) {
  load_callers(jni);
  for (Target& target : hooks().targets) {
    if (target.type != nullptr) continue;
    jclass type = boot_class(jni, target.name);
    if (type == nullptr) continue;
    target.type = static_cast<jclass>(jni->NewGlobalRef(type));
    jni->DeleteLocalRef(type);
  }
  // The third is not in every JDK.
  return hooks().targets[0].type != nullptr && hooks().targets[1].type != nullptr;
}

// `with_sites`: on_class_file_load puts our call sites in; else the classes get back what they have without us.
bool retransform(std::span<Target> targets, bool with_sites) {
  std::vector<jclass> types;
  for (const Target& target : targets) {
    if (target.type != nullptr) types.push_back(target.type);
  }
  if (types.empty()) return true;
  jvmtiEnv* jvmti = agent().jvmti;
  const auto set_hook = [jvmti](bool on) {
    return jvmti->SetEventNotificationMode(on ? JVMTI_ENABLE : JVMTI_DISABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK,
                                           nullptr);
  };
  if (with_sites && set_hook(true) != JVMTI_ERROR_NONE) return false;
  retransforming = with_sites;
  const jvmtiError error = jvmti->RetransformClasses(static_cast<jint>(types.size()), types.data());
  retransforming = false;
  if (with_sites && !wants_class_files()) set_hook(false);
  return error == JVMTI_ERROR_NONE;
}

bool is_in(const Target& target) {
  return target.outcome == PatchOutcome::kPatched || target.outcome == PatchOutcome::kAlreadyPatched;
}

Patch put_in(const Target& target, std::span<const uint8_t> class_file) {
  if (target.calls.empty()) return redirect_calls(class_file, target.sites, hooks().own.name);
  Insertion done = insert_calls(class_file, target.calls, hooks().own.name);
  switch (done.outcome) {
    case InsertOutcome::kInserted:
      return {PatchOutcome::kPatched, std::move(done.bytes), target.calls.size()};
    case InsertOutcome::kAlready:
      return {PatchOutcome::kAlreadyPatched, {}, 0};
    case InsertOutcome::kNothing:
      return {PatchOutcome::kNoSite, {}, 0};
    default:
      return {};
  }
}

bool patch_classes() {
  Hooks& self = hooks();
  const std::span<Target> all(self.targets);
  for (Target& target : all) target.outcome = PatchOutcome::kMalformed;
  if (!retransform(all.first(2), true)) return failed("the JVM refused to retransform LockSupport");
  // Without it pinned virtual threads are not marked as such, and that is all.
  retransform(all.subspan(2), true);
  for (Target& target : all) {
    target.patched = target.type != nullptr && is_in(target);
    if (!target.patched) continue;
    if (target.methods.empty()) find_probes(target);  // now: a class that was never used has no methods before
    target.fingerprint = fingerprint(target);
  }
  self.seen_ns = monotonic_ns();
  if (!self.targets[0].patched) return failed("this JDK's LockSupport is built in another way, or another agent's");
  return self.targets[1].patched ||
         failed("this JDK's AbstractOwnableSynchronizer is built in another way, or another agent's");
}

bool add_capabilities() {
  jvmtiCapabilities wanted{};
  wanted.can_retransform_classes = 1;
  wanted.can_get_bytecodes = 1;
  return agent().jvmti->AddCapabilities(&wanted) == JVMTI_ERROR_NONE || failed("the JVM allows no retransformation");
}

}  // namespace

const char* hooks_problem() noexcept { return hooks().problem; }

void switch_hooks(JNIEnv* jni, bool on, HookUse use) noexcept {
  const jfieldID field = use == HookUse::kLocks ? hooks().on : hooks().causal;
  if (hooks().hook != nullptr) jni->SetStaticBooleanField(hooks().hook, field, on ? JNI_TRUE : JNI_FALSE);
}

void report_all_holds(JNIEnv* jni) noexcept {
  if (hooks().hook == nullptr || hooks().tell_all_holds == nullptr) return;
  const auto untimed = static_cast<uint32_t>(jni->CallStaticIntMethod(hooks().hook, hooks().tell_all_holds));
  if (!no_exception(jni)) return;
  if (const uint32_t more = untimed - hooks().untimed.exchange(untimed); more != 0) listeners().locks->untimed(more);
}

void forget_holds(JNIEnv* jni) noexcept {
  if (hooks().hook == nullptr || hooks().forget_holds == nullptr) return;
  jni->CallStaticVoidMethod(hooks().hook, hooks().forget_holds);
  no_exception(jni);
}

void JNICALL on_class_file_load(jvmtiEnv* jvmti, JNIEnv*, jclass redefined, jobject loader, const char* name, jobject,
                                jint length, const unsigned char* bytes, jint* new_length, unsigned char** new_bytes) {
  if (!retransforming || redefined == nullptr || name == nullptr) {  // of no interest here
    for (const ClassFileListener* each : listeners().class_files) {
      if (each->changes(loader, name, redefined, length, bytes, new_length, new_bytes)) return;
    }
    return;
  }
  for (Target& target : hooks().targets) {
    if (std::strcmp(name, target.name) != 0) continue;
    const Patch patch = put_in(target, {bytes, static_cast<size_t>(length)});
    target.outcome = patch.outcome;
    if (patch.outcome != PatchOutcome::kPatched) return;
    unsigned char* copy = nullptr;
    const auto size = static_cast<jlong>(patch.bytes.size());
    if (jvmti->Allocate(size, &copy) != JVMTI_ERROR_NONE) {
      target.outcome = PatchOutcome::kMalformed;
      return;
    }
    std::memcpy(copy, patch.bytes.data(), patch.bytes.size());
    *new_length = static_cast<jint>(size);
    *new_bytes = copy;
  }
}

bool install_hooks(JNIEnv* jni, HookUse use) noexcept {
  const Locked locked(monitor());
  Hooks& self = hooks();
  const auto bit = static_cast<uint8_t>(use);
  if (self.uses != 0) {
    self.uses |= bit;
    switch_hooks(jni, true, use);
    return true;
  }
  if (!add_capabilities() || !define_hook(jni)) return false;
  if (!find_targets(jni)) return failed("this JDK's locks are built in another way");
  self.reinstalls = 0;
  if (!patch_classes()) {
    retransform(self.targets, false);
    return false;
  }
  self.uses = bit;
  switch_hooks(jni, true, use);
  return true;
}

void remove_hooks(JNIEnv* jni, HookUse use) noexcept {
  const Locked locked(monitor());
  switch_hooks(jni, false, use);
  const auto bit = static_cast<uint8_t>(use);
  if ((hooks().uses & bit) == 0) return;
  if (use == HookUse::kLocks) forget_holds(jni);  // of threads that were just timing one
  hooks().uses = static_cast<uint8_t>(hooks().uses & ~bit);
  if (hooks().uses != 0) return;
  retransform(hooks().targets, false);
}

void poll_hooks(JNIEnv* jni) noexcept {
  const Locked locked(monitor());
  Hooks& self = hooks();
  if (self.uses == 0 || self.reinstalls >= kMostReinstalls) return;
  const auto intact = [](const Target& target) { return !target.patched || fingerprint(target) == target.fingerprint; };
  if (std::ranges::all_of(self.targets, intact)) {
    self.seen_ns = monotonic_ns();
    return;
  }
  // Another agent has redefined one of the classes: what it put there stays, and our call sites come back.
  const int64_t from_ns = self.seen_ns;
  const bool back = patch_classes();
  forget_holds(jni);  // some of them have ended unseen
  if (!back) self.reinstalls = kMostReinstalls;
  ++self.reinstalls;
  write_info(back ? "locks_gap" : "locks_lost", std::to_string(from_ns) + ' ' + std::to_string(monotonic_ns()));
}

}  // namespace headway::agent
