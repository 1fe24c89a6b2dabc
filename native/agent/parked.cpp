#include "agent/parked.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "agent/agent.h"
#include "agent/boot_classes.h"

namespace headway::agent {
namespace {

constexpr size_t kMostSeen = 20'000;  // each keeps a weak reference, which every collection looks at
constexpr jlong kMostVirtual = 100'000;
constexpr jint kMostContainers = 5000;
constexpr jint kLocalRefs = 64;  // besides containers
constexpr int kFirstJdk = 21;    // with virtual threads for good

// Who has an exclusive synchroniser: what the hook class asks when a wait begins.
class Owners {
 public:
  explicit Owners(JNIEnv* jni)
      : jni_(jni), type_(boot_class(jni, "java/util/concurrent/locks/AbstractOwnableSynchronizer")) {
    if (type_ != nullptr) field_ = jni->GetFieldID(type_, "exclusiveOwnerThread", "Ljava/lang/Thread;");
    if (!no_exception(jni)) field_ = nullptr;
  }
  ~Owners() { jni_->DeleteLocalRef(type_); }
  Owners(const Owners&) = delete;
  Owners& operator=(const Owners&) = delete;
  // 0: nobody, or the object is no such thing.
  uint32_t of(jobject object) const {
    if (object == nullptr || field_ == nullptr || jni_->IsInstanceOf(object, type_) == JNI_FALSE) return 0;
    jobject owner = jni_->GetObjectField(object, field_);
    const uint64_t java_id = java_thread_id(jni_, owner);
    jni_->DeleteLocalRef(owner);
    return static_cast<uint32_t>(java_id);
  }

 private:
  JNIEnv* jni_;
  jclass type_;
  jfieldID field_ = nullptr;
};

// hw_block_flags of a park in progress; nothing: the thread is not parked.
using Parked = std::optional<uint32_t>;

Parked platform_thread(jthread thread) {
  jint state = 0;
  agent().jvmti->GetThreadState(thread, &state);
  if ((state & JVMTI_THREAD_STATE_PARKED) == 0) return {};
  return (state & JVMTI_THREAD_STATE_WAITING_WITH_TIMEOUT) != 0 ? HW_BL_TIMED : 0;
}

jobject blocker_of(JNIEnv* jni, jthread thread) {
  static const jfieldID field = [jni] {
    jclass type = boot_class(jni, "java/lang/Thread");
    jfieldID found = type == nullptr ? nullptr : jni->GetFieldID(type, "parkBlocker", "Ljava/lang/Object;");
    jni->DeleteLocalRef(type);
    return no_exception(jni) ? found : nullptr;
  }();
  return field == nullptr ? nullptr : jni->GetObjectField(thread, field);
}

bool has_blocker(JNIEnv* jni, jthread thread) {
  jobject blocker = blocker_of(jni, thread);
  jni->DeleteLocalRef(blocker);
  return blocker != nullptr;
}

// What java.lang.VirtualThread says of itself in a field. Its values have names, which are the same since JDK 21; the
// numbers are not.
class VirtualStates {
 public:
  explicit VirtualStates(JNIEnv* jni) : jni_(jni) {
    jclass type = boot_class(jni, "java/lang/VirtualThread");
    jint status = 0;
    // Not initialised: there never was one. To ask for its fields would do it.
    if (type == nullptr || agent().jvmti->GetClassStatus(type, &status) != JVMTI_ERROR_NONE) return;
    if ((status & JVMTI_CLASS_STATUS_INITIALIZED) == 0) return;
    any_ = true;
    field_ = jni->GetFieldID(type, "state", "I");
    if (!no_exception(jni)) field_ = nullptr;
    if (const auto suspended = constant(type, "SUSPENDED")) mask_ = ~*suspended;
    for (size_t i = 0; i < kNames.size(); ++i) values_[i] = constant(type, kNames[i].text);
    jni->DeleteLocalRef(type);
  }
  bool any() const { return any_; }
  bool known() const { return field_ != nullptr && values_[0].has_value(); }
  // Without a blocker and with a time limit it is nearly always Thread.sleep, which is no park for the hooks either.
  // JDK 21 has no states of their own for parks with a time limit: there none is sure to be without one.
  Parked of(jobject thread) const {
    const Parked found = state_of(thread);
    if (!found.has_value() || (tells_timed() && (*found & HW_BL_TIMED) == 0)) return found;
    return has_blocker(jni_, thread) ? found : Parked{};
  }

 private:
  struct Name {
    const char* text;
    uint32_t flags;
  };
  static constexpr std::array<Name, 4> kNames{{{"PARKED", 0},
                                               {"TIMED_PARKED", HW_BL_TIMED},
                                               {"PINNED", HW_BL_PINNED},
                                               {"TIMED_PINNED", HW_BL_TIMED | HW_BL_PINNED}}};

  bool tells_timed() const { return values_[1].has_value(); }
  Parked state_of(jobject thread) const {
    const jint state = jni_->GetIntField(thread, field_) & mask_;
    for (size_t i = 0; i < kNames.size(); ++i) {
      if (values_[i] == state) return kNames[i].flags | HW_BL_VIRTUAL;
    }
    return {};
  }
  std::optional<jint> constant(jclass type, const char* name) const {
    jfieldID field = jni_->GetStaticFieldID(type, name, "I");
    if (!no_exception(jni_) || field == nullptr) return {};
    return jni_->GetStaticIntField(type, field);
  }

  JNIEnv* jni_;
  bool any_ = false;
  jfieldID field_ = nullptr;
  jint mask_ = -1;
  std::array<std::optional<jint>, kNames.size()> values_{};
};

// The JDK's tree of thread containers: the root has the threads that were started by themselves, the others are
// executors and scopes.
class Containers {
 public:
  explicit Containers(JNIEnv* jni) : jni_(jni) {
    jclass all = boot_class(jni, "jdk/internal/vm/ThreadContainers");
    jclass one = boot_class(jni, "jdk/internal/vm/ThreadContainer");
    jclass stream = boot_class(jni, "java/util/stream/Stream");
    if (all == nullptr || one == nullptr || stream == nullptr) return;
    jmethodID root = jni->GetStaticMethodID(all, "root", "()Ljdk/internal/vm/ThreadContainer;");
    if (!no_exception(jni)) return;
    children_ = method(one, "children", "()Ljava/util/stream/Stream;");
    threads_ = method(one, "threads", "()Ljava/util/stream/Stream;");
    limit_ = method(stream, "limit", "(J)Ljava/util/stream/Stream;");
    to_array_ = method(stream, "toArray", "()[Ljava/lang/Object;");
    if (children_ == nullptr || threads_ == nullptr || limit_ == nullptr || to_array_ == nullptr) return;
    jobject found = jni->CallStaticObjectMethod(all, root);
    if (!no_exception(jni) || found == nullptr) return;
    jclass counting = boot_class(jni, "jdk/internal/vm/ThreadContainers$RootContainer$CountingRootContainer");
    only_counts_ = counting != nullptr && jni->IsInstanceOf(found, counting) == JNI_TRUE;
    left_.push_back(found);
  }
  // The next container's threads, `most` at most; nullptr: there is no further one, or failed().
  jobjectArray next(jlong most) {
    if (left_.empty()) return nullptr;
    jobject container = left_.back();
    left_.pop_back();
    ++seen_;
    jobjectArray inside = array(container, children_, kMostContainers);
    const jsize count = inside == nullptr ? 0 : jni_->GetArrayLength(inside);
    is_cut_ |= seen_ + left_.size() + static_cast<size_t>(count) > static_cast<size_t>(kMostContainers);
    for (jsize i = 0; i < count && !is_cut_; ++i) left_.push_back(jni_->GetObjectArrayElement(inside, i));
    jobjectArray found = array(container, threads_, most);
    jni_->DeleteLocalRef(inside);
    jni_->DeleteLocalRef(container);
    return found;
  }
  bool failed() const { return to_array_ == nullptr || seen_ == 0 || has_failed_; }
  bool is_cut() const { return is_cut_; }
  bool only_counts() const { return only_counts_; }

 private:
  jmethodID method(jclass type, const char* name, const char* descriptor) const {
    jmethodID found = jni_->GetMethodID(type, name, descriptor);
    return no_exception(jni_) ? found : nullptr;
  }
  jobjectArray array(jobject container, jmethodID part, jlong most) {
    jobject all = jni_->CallObjectMethod(container, part);
    jobject some = no_exception(jni_) && all != nullptr ? jni_->CallObjectMethod(all, limit_, most) : nullptr;
    jobject found = no_exception(jni_) && some != nullptr ? jni_->CallObjectMethod(some, to_array_) : nullptr;
    if (!no_exception(jni_)) found = nullptr;
    has_failed_ |= found == nullptr;
    jni_->DeleteLocalRef(some);
    jni_->DeleteLocalRef(all);
    return static_cast<jobjectArray>(found);
  }

  JNIEnv* jni_;
  jmethodID children_ = nullptr;
  jmethodID threads_ = nullptr;
  jmethodID limit_ = nullptr;
  jmethodID to_array_ = nullptr;
  std::vector<jobject> left_;
  size_t seen_ = 0;
  bool is_cut_ = false;
  bool only_counts_ = false;
  bool has_failed_ = false;
};

// The wait of a thread that is parked. nullptr: it is not recorded, or over by now.
template <typename State>
Waiting* begin(JNIEnv* jni, const Owners& owners, jthread thread, uint32_t flags, const State& state) {
  jobject blocker = blocker_of(jni, thread);
  Waiting* const waiting =
      wait_begins(jni, HW_BK_PARK, {blocker, identity_hash(blocker), 0},
                  static_cast<uint32_t>(java_thread_id(jni, thread)), owners.of(blocker), HW_BL_ATTACHED | flags);
  jni->DeleteLocalRef(blocker);
  if (waiting == nullptr || state(thread).has_value()) return waiting;
  wait_ends(jni, waiting, HW_BL_END_GUESSED);  // it has gone on meanwhile, unseen
  return nullptr;
}

}  // namespace

void ParkedThreads::keep(JNIEnv* jni, const Seen& seen) {
  if (seen.waiting == nullptr) return;
  jweak thread = jni->NewWeakGlobalRef(seen.thread);
  if (no_exception(jni) && thread != nullptr) seen_.push_back({thread, seen.waiting, seen.is_virtual});
}

void ParkedThreads::note_platform_threads(JNIEnv* jni) {
  jint count = 0;
  jthread* threads = nullptr;
  if (agent().jvmti->GetAllThreads(&count, &threads) != JVMTI_ERROR_NONE) return;
  const Owners owners(jni);
  for (jint i = 0; i < count; ++i) {
    if (const Parked flags = platform_thread(threads[i])) {
      keep(jni, {threads[i], begin(jni, owners, threads[i], *flags, platform_thread), false});
    }
    jni->DeleteLocalRef(threads[i]);
  }
  agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(threads));
}

const char* ParkedThreads::note_each_virtual_thread(JNIEnv* jni) {
  const VirtualStates states(jni);
  if (!states.any()) return nullptr;
  if (!states.known()) return "this JDK's virtual threads are built in another way";
  const Owners owners(jni);
  Containers containers(jni);
  const auto state = [&](jthread thread) { return states.of(thread); };
  jlong left = kMostVirtual;
  while (jobjectArray threads = containers.next(left)) {
    const jsize count = jni->GetArrayLength(threads);
    left -= count;
    for (jsize i = 0; i < count && seen_.size() < kMostSeen; ++i) {
      jthread thread = jni->GetObjectArrayElement(threads, i);
      const Parked flags = is_virtual_thread(jni, thread) ? state(thread) : Parked{};
      if (flags.has_value()) {
        keep(jni, {thread, begin(jni, owners, thread, *flags, state), true});
      }
      jni->DeleteLocalRef(thread);
    }
    jni->DeleteLocalRef(threads);
  }
  if (containers.failed()) return "this JDK does not list its virtual threads";
  if (containers.only_counts()) return "the JVM was started with -Djdk.trackAllThreads=false";
  const bool is_all = left > 0 && seen_.size() < kMostSeen && !containers.is_cut();
  return is_all ? nullptr : "there are too many";
}

void ParkedThreads::note_virtual_threads(JNIEnv* jni) {
  if (agent().jdk_major < kFirstJdk) return;
  if (jni->PushLocalFrame(kMostContainers + kLocalRefs) != JNI_OK) {
    jni->ExceptionClear();
    return;
  }
  if (const char* const problem = note_each_virtual_thread(jni)) write_info("parked_before", problem);
  no_exception(jni);
  jni->PopLocalFrame(nullptr);
}

void ParkedThreads::look(JNIEnv* jni) {
  if (seen_.empty()) return;
  std::optional<VirtualStates> states;
  const auto is_over = [&](const Seen& seen) {
    if (!wait_goes_on(seen.waiting)) return true;
    if (seen.is_virtual && !states.has_value()) states.emplace(jni);
    jthread thread = jni->NewLocalRef(seen.thread);  // nullptr: collected
    const bool parked = thread != nullptr && (seen.is_virtual ? states->of(thread) : platform_thread(thread));
    jni->DeleteLocalRef(thread);
    if (!parked) wait_ends(jni, seen.waiting, HW_BL_END_GUESSED);
    return !parked;
  };
  std::erase_if(seen_, [&](const Seen& seen) {
    const bool over = is_over(seen);
    if (over) jni->DeleteWeakGlobalRef(seen.thread);
    return over;
  });
}

void ParkedThreads::let_go(JNIEnv* jni) {
  for (const Seen& seen : seen_) jni->DeleteWeakGlobalRef(seen.thread);
  seen_.clear();
}

}  // namespace headway::agent
