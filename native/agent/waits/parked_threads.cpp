#include "agent/waits/parked_threads.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "agent/core/clock.h"
#include "agent/jvm/boot_classes.h"
#include "agent/jvm/identity_hash.h"
#include "agent/jvm/stacks.h"
#include "agent/jvm/thread_ids.h"
#include "agent/state/records.h"
#include "agent/state/state.h"

namespace headway::agent {
namespace {

constexpr size_t kMostSeen = 20'000;  // virtual; each keeps a weak reference, which every collection looks at
constexpr size_t kMostVirtual = 100'000;
constexpr size_t kMostContainers = 5000;
constexpr int64_t kMostNs = 2'000'000'000;
constexpr jlong kFreeBytes = 4 << 20;  // of the heap: a JVM may be told to end when Java code finds no memory
constexpr jint kLocalRefs = 64;
constexpr const char* kBound = "they are bound to threads of the system";  // -XX:-VMContinuations
constexpr int kFirstJdk = 21;                                              // with virtual threads for good

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

// Whether the hooks will see it go on. Workers of JDK 25's ForkJoinPool park by Unsafe, past LockSupport.
bool is_in_lock_support(JNIEnv* jni, jthread thread) {
  constexpr jint kInnermost = 8;  // of an earlier recording the hooks are still on the stack
  std::array<jvmtiFrameInfo, kInnermost> frames{};
  jint count = 0;
  if (agent().jvmti->GetStackTrace(thread, 0, kInnermost, frames.data(), &count) != JVMTI_ERROR_NONE) return false;
  const auto is_its = [jni](const jvmtiFrameInfo& frame) {
    jclass type = nullptr;
    char* signature = nullptr;
    if (agent().jvmti->GetMethodDeclaringClass(frame.method, &type) != JVMTI_ERROR_NONE) return false;
    agent().jvmti->GetClassSignature(type, &signature, nullptr);
    jni->DeleteLocalRef(type);
    const bool found =
        signature != nullptr && std::string_view(signature) == "Ljava/util/concurrent/locks/LockSupport;";
    agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(signature));
    return found;
  };
  return std::any_of(frames.begin(), frames.begin() + count, is_its);
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

bool is_initialised(jclass type) {
  jint status = 0;
  return type != nullptr && agent().jvmti->GetClassStatus(type, &status) == JVMTI_ERROR_NONE &&
         (status & JVMTI_CLASS_STATUS_INITIALIZED) != 0;
}

jlong bytes(const char* function) {
  const auto ask = reinterpret_cast<jlong(JNICALL*)()>(libjvm_symbol(function));
  return ask == nullptr ? 0 : ask();
}

bool has_memory() {
  const jlong most = bytes("JVM_MaxMemory");
  return most == 0 || most - bytes("JVM_TotalMemory") + bytes("JVM_FreeMemory") >= kFreeBytes;
}

}  // namespace

// What java.lang.VirtualThread says of itself in a field. Its values have names, which are the same since JDK 21; the
// numbers are not.
class VirtualStates {
 public:
  // `type`: the class, initialised. To ask for its fields would do that, too.
  VirtualStates(JNIEnv* jni, jclass type) : type_(static_cast<jclass>(jni->NewGlobalRef(type))) {
    field_ = jni->GetFieldID(type, "state", "I");
    if (!no_exception(jni)) field_ = nullptr;
    if (const auto suspended = constant(jni, "SUSPENDED")) mask_ = ~*suspended;
    for (size_t i = 0; i < kNames.size(); ++i) values_[i] = constant(jni, kNames[i].text);
  }
  void let_go(JNIEnv* jni) { jni->DeleteGlobalRef(type_); }
  bool known() const { return type_ != nullptr && field_ != nullptr && values_[0].has_value(); }
  bool is_of(JNIEnv* jni, jobject thread) const { return jni->IsInstanceOf(thread, type_) == JNI_TRUE; }
  // The first of JDK 21 had no states of their own for parks with a time limit: there none is sure to be without one.
  bool tells_timed() const { return values_[1].has_value(); }
  // Without a blocker and with a time limit it is nearly always Thread.sleep, which is no park for the hooks either.
  Parked of(JNIEnv* jni, jobject thread) const {
    const Parked found = state_of(jni, thread);
    if (!found.has_value() || (tells_timed() && (*found & HW_BL_TIMED) == 0)) return found;
    return has_blocker(jni, thread) ? found : Parked{};
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

  Parked state_of(JNIEnv* jni, jobject thread) const {
    const jint state = jni->GetIntField(thread, field_) & mask_;
    for (size_t i = 0; i < kNames.size(); ++i) {
      if (values_[i] == state) return kNames[i].flags | HW_BL_VIRTUAL;
    }
    return {};
  }
  std::optional<jint> constant(JNIEnv* jni, const char* name) const {
    jfieldID field = jni->GetStaticFieldID(type_, name, "I");
    if (!no_exception(jni) || field == nullptr) return {};
    return jni->GetStaticIntField(type_, field);
  }

  jclass type_;  // global reference
  jfieldID field_ = nullptr;
  jint mask_ = -1;
  std::array<std::optional<jint>, kNames.size()> values_{};
};

namespace {

// The JDK's tree of thread containers: the root has the threads that were started by themselves, the others are
// executors and scopes. One thread at a time, as the heap may be nearly full.
class Containers {
 public:
  explicit Containers(JNIEnv* jni) : jni_(jni) {
    jclass all = boot_class(jni, "jdk/internal/vm/ThreadContainers");
    jclass one = boot_class(jni, "jdk/internal/vm/ThreadContainer");
    jclass stream = boot_class(jni, "java/util/stream/BaseStream");
    jclass iterator = boot_class(jni, "java/util/Iterator");
    if (all == nullptr || one == nullptr || stream == nullptr || iterator == nullptr) return;
    jmethodID root = jni->GetStaticMethodID(all, "root", "()Ljdk/internal/vm/ThreadContainer;");
    if (!no_exception(jni)) return;
    children_ = method(one, "children", "()Ljava/util/stream/Stream;");
    threads_ = method(one, "threads", "()Ljava/util/stream/Stream;");
    iterator_ = method(stream, "iterator", "()Ljava/util/Iterator;");
    has_next_ = method(iterator, "hasNext", "()Z");
    next_ = method(iterator, "next", "()Ljava/lang/Object;");
    if (!are_known()) return;
    jobject found = jni->CallStaticObjectMethod(all, root);
    if (!no_exception(jni) || found == nullptr) return;
    jclass counting = boot_class(jni, "jdk/internal/vm/ThreadContainers$RootContainer$CountingRootContainer");
    only_counts_ = counting != nullptr && jni->IsInstanceOf(found, counting) == JNI_TRUE;
    push(found);
  }
  ~Containers() {
    for (jobject container : left_) jni_->DeleteGlobalRef(container);
  }
  Containers(const Containers&) = delete;
  Containers& operator=(const Containers&) = delete;

  // Calls `use` with each thread of each container, until it returns false.
  template <typename Use>
  void each_thread(const Use& use) {
    bool goes_on = true;
    while (goes_on && !left_.empty()) {
      jobject container = left_.back();
      left_.pop_back();
      each(container, children_, [this](jobject child) { return push(child); });
      each(container, threads_, [&](jobject thread) { return goes_on = use(thread); });
      jni_->DeleteGlobalRef(container);
    }
  }
  bool are_known() const { return children_ && threads_ && iterator_ && has_next_ && next_; }
  bool has_failed() const { return has_failed_ || seen_ == 0; }
  bool is_cut() const { return is_cut_; }
  bool only_counts() const { return only_counts_; }

 private:
  jmethodID method(jclass type, const char* name, const char* descriptor) const {
    jmethodID found = jni_->GetMethodID(type, name, descriptor);
    return no_exception(jni_) ? found : nullptr;
  }
  bool push(jobject container) {
    if (seen_ == kMostContainers) {
      is_cut_ = true;
      return false;
    }
    ++seen_;
    jobject kept = jni_->NewGlobalRef(container);
    if (kept != nullptr) left_.push_back(kept);
    return kept != nullptr;
  }
  template <typename Use>
  void each(jobject container, jmethodID part, const Use& use) {
    jobject stream = jni_->CallObjectMethod(container, part);
    jobject all = no_exception(jni_) && stream != nullptr ? jni_->CallObjectMethod(stream, iterator_) : nullptr;
    has_failed_ |= !no_exception(jni_) || all == nullptr;
    for (bool more = all != nullptr; more;) {
      more = jni_->CallBooleanMethod(all, has_next_) == JNI_TRUE;
      jobject one = no_exception(jni_) && more ? jni_->CallObjectMethod(all, next_) : nullptr;
      if (!no_exception(jni_) || (more && one == nullptr)) has_failed_ = true;
      more = one != nullptr && use(one);
      jni_->DeleteLocalRef(one);
    }
    jni_->DeleteLocalRef(all);
    jni_->DeleteLocalRef(stream);
  }

  JNIEnv* jni_;
  jmethodID children_ = nullptr;
  jmethodID threads_ = nullptr;
  jmethodID iterator_ = nullptr;
  jmethodID has_next_ = nullptr;
  jmethodID next_ = nullptr;
  std::vector<jobject> left_;  // global references
  size_t seen_ = 0;
  bool is_cut_ = false;
  bool only_counts_ = false;
  bool has_failed_ = false;
};

// The wait of a thread that is parked. nullptr: it is not recorded, or over by now.
template <typename State>
Waiting* begin(JNIEnv* jni, LockRecording* into, const Owners& owners, jthread thread, uint32_t flags,
               uint32_t stack_id, const State& state) {
  jobject blocker = blocker_of(jni, thread);
  Waiting* const waiting =
      seen_to_wait(jni, into, {blocker, identity_hash(blocker), 0}, static_cast<uint32_t>(java_thread_id(jni, thread)),
                   owners.of(blocker), HW_BL_ATTACHED | flags, stack_id);
  jni->DeleteLocalRef(blocker);
  if (waiting == nullptr || state(thread).has_value()) return waiting;
  wait_ends(jni, waiting, HW_BL_END_GUESSED);  // it has gone on meanwhile, unseen
  return nullptr;
}

}  // namespace

ParkedThreads::ParkedThreads(LockRecording* recording) : recording_(recording) {}
ParkedThreads::~ParkedThreads() = default;

void ParkedThreads::keep(JNIEnv* jni, const Seen& seen) {
  if (seen.waiting == nullptr) return;
  jweak thread = jni->NewWeakGlobalRef(seen.thread);
  if (no_exception(jni) && thread != nullptr) seen_.push_back({thread, seen.waiting, seen.is_virtual});
}

void ParkedThreads::note_platform_threads(JNIEnv* jni) {
  jint count = 0;
  jthread* threads = nullptr;
  if (agent().jvmti->GetAllThreads(&count, &threads) != JVMTI_ERROR_NONE) return;
  if (jni->EnsureLocalCapacity(count + kLocalRefs) != JNI_OK) jni->ExceptionClear();
  const Owners owners(jni);
  for (jint i = 0; i < count; ++i) {
    const Parked flags = platform_thread(threads[i]);
    if (flags.has_value() && is_in_lock_support(jni, threads[i])) {
      keep(jni, {threads[i],
                 begin(jni, recording_, owners, threads[i], *flags, take_stack_of(jni, threads[i]), platform_thread),
                 false});
    }
    jni->DeleteLocalRef(threads[i]);
  }
  agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(threads));
}

const char* ParkedThreads::note_each_virtual_thread(JNIEnv* jni) {
  jclass type = boot_class(jni, "java/lang/VirtualThread");
  // Those, of a JVM without continuations, are in no list.
  const bool are_bound = is_initialised(boot_class(jni, "java/lang/ThreadBuilders$BoundVirtualThread"));
  if (!is_initialised(type)) return are_bound ? kBound : nullptr;  // there never was one of the usual kind
  states_ = std::make_unique<VirtualStates>(jni, type);
  if (!states_->known()) return "this JDK's virtual threads are built in another way";
  if (!has_memory()) return "the JVM's heap is nearly full";
  const Owners owners(jni);
  Containers containers(jni);
  if (!containers.are_known()) return "this JDK does not list its virtual threads";
  if (containers.only_counts()) return "the JVM was started with -Djdk.trackAllThreads=false";
  const auto state = [&](jthread thread) { return states_->of(jni, thread); };
  const int64_t began_ns = monotonic_ns();
  const size_t platform = seen_.size();
  size_t virtuals = 0;
  const char* problem = nullptr;
  containers.each_thread([&](jthread thread) {
    if (lock_recording() != recording_) return false;
    if (!states_->is_of(jni, thread)) return true;
    const Parked flags = state(thread);
    if (++virtuals > kMostVirtual || (flags.has_value() && seen_.size() - platform == kMostSeen)) {
      problem = "there are too many";
    } else if (monotonic_ns() - began_ns > kMostNs) {
      problem = "to list them took too long";
    } else if (flags.has_value()) {
      keep(jni, {thread, begin(jni, recording_, owners, thread, *flags, 0, state), true});
    }
    return problem == nullptr;
  });
  if (problem != nullptr) return problem;
  if (are_bound) return kBound;
  if (containers.is_cut()) return "there are too many executors or scopes";
  if (containers.has_failed()) return "the JDK's list could not be read to its end";
  return states_->tells_timed() ? nullptr : "this JDK does not tell parks without a blocker from sleep";
}

void ParkedThreads::note_virtual_threads(JNIEnv* jni) {
  if (agent().jdk_major < kFirstJdk || lock_recording() != recording_) return;
  const bool got = jni->PushLocalFrame(kLocalRefs) == JNI_OK;
  const char* const problem = got ? note_each_virtual_thread(jni) : "the JVM gives no memory for references";
  no_exception(jni);
  if (problem != nullptr && lock_recording() == recording_) write_info("parked_before", problem);
  if (got) jni->PopLocalFrame(nullptr);
}

void ParkedThreads::look(JNIEnv* jni) {
  std::erase_if(seen_, [&](const Seen& seen) {
    const bool over = is_over(jni, seen);
    if (over) jni->DeleteWeakGlobalRef(seen.thread);
    return over;
  });
}

bool ParkedThreads::is_over(JNIEnv* jni, const Seen& seen) const {
  if (!wait_goes_on(seen.waiting)) return true;
  jthread thread = jni->NewLocalRef(seen.thread);  // nullptr: collected
  const bool parked =
      thread != nullptr && (seen.is_virtual ? states_->of(jni, thread) : platform_thread(thread)).has_value();
  jni->DeleteLocalRef(thread);
  if (!parked) wait_ends(jni, seen.waiting, HW_BL_END_GUESSED);
  return !parked;
}

void ParkedThreads::let_go(JNIEnv* jni) {
  for (const Seen& seen : seen_) jni->DeleteWeakGlobalRef(seen.thread);
  seen_.clear();
  if (states_ != nullptr) states_->let_go(jni);
  states_.reset();
}

}  // namespace headway::agent
