#include "agent/objects/accesses.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/classfile/class_accesses.h"
#include "agent/core/scope.h"
#include "agent/jvm/boot_classes.h"
#include "agent/jvm/loaded_classes.h"
#include "agent/jvm/raw_monitor.h"
#include "agent/objects/access_counters.h"
#include "agent/objects/class_ids.h"
#include "agent/objects/line_writes.h"
#include "agent/objects/node_accesses.h"
#include "agent/objects/object_ids.h"
#include "agent/objects/owner_hash.h"
#include "agent/objects/sums_writer.h"
#include "agent/objects/window_timer.h"
#include "agent/state/records.h"
#include "agent/state/state.h"
#include "count_class_file.h"

namespace headway::agent {
namespace {

constexpr jint kLocalRefs = 32;
constexpr size_t kBatch = 200;  // classes that are given back their own bytes at once

// Never destroyed: code of the program may count until the process ends.
struct Accesses {
  AccessCounters counters;
  ObjectIds ids;  // with owners by the last writer
  SumsWriter writer{"headway accesses"};
  WindowTimer timer;
  BootClass own{"java/lang/HeadwayCount", kCountClassFile, {}};
  std::vector<std::string> scope;
  int64_t generator =
      -1;  // of identity hashes, in a thread of the JVM's; below 0: owners are not asked for, or not known
  bool owners_work = false;
  std::atomic<bool> armed{false};  // classes get counts as they are loaded
  std::atomic<bool> dying{false};
  std::atomic<bool> windows_failed{false};
  std::mutex mutex;
  std::set<std::string, std::less<>> changed;  // classes that have counts; internal names

  // Of classes in scope.
  std::atomic<uint32_t> classes{0}, classes_left_out{0}, loaded_before{0}, methods_left_out{0};
  std::atomic<uint32_t> instructions{0}, instructions_left_out{0}, instructions_without_owner{0};
  std::atomic<uint32_t> unseen_writes{0};
};

Accesses& accesses() noexcept {
  static Accesses* const instance = new Accesses;
  return *instance;
}

// --- classes ---------------------------------------------------------------------------------------------------------

// The JDK's own classes are left alone whatever the scope says: what counts calls them.
bool is_counted(std::string_view internal_name) {
  constexpr std::string_view kOfJdk[] = {"java/", "jdk/", "sun/", "com/sun/"};
  const auto begins = [internal_name](std::string_view prefix) { return internal_name.starts_with(prefix); };
  if (std::ranges::any_of(kOfJdk, begins)) return false;
  std::string name(internal_name);
  std::ranges::replace(name, '/', '.');
  return in_scope(accesses().scope, name);
}

bool hand_over(const std::vector<uint8_t>& bytes, jint* new_length, unsigned char** new_bytes) {
  unsigned char* copy = nullptr;
  if (agent().jvmti->Allocate(static_cast<jlong>(bytes.size()), &copy) != JVMTI_ERROR_NONE) return false;
  std::memcpy(copy, bytes.data(), bytes.size());
  *new_length = static_cast<jint>(bytes.size());
  *new_bytes = copy;
  return true;
}

// Puts counts in; the outcome says whether there are any. `is_again`: the class was loaded before.
CountedClass with_counts(std::string_view internal_name, std::span<const uint8_t> file, bool is_again) {
  Accesses& self = accesses();
  const AccessClass found = accesses_of(file, self.owners_work, lines_work(), nodes_work());
  if (!found.ok || found.name != internal_name) return {};
  CountedClass nothing;
  nothing.outcome = InsertOutcome::kNothing;
  if (found.counters.empty() && !found.has_owner_sites) return nothing;
  const bool has_rows = self.owners_work || nodes_work();
  const uint32_t class_id = class_id_of_name(internal_name);
  if (class_id == 0) return {};
  const auto first = self.counters.number_of(class_id, found.counters);
  const auto row = has_rows ? self.counters.rows_of(class_id) : std::nullopt;
  if (!first || (has_rows && !row)) return {};
  const auto place = lines_work() ? number_places(class_id, found.places, is_again) : std::nullopt;
  if (lines_work() && !place) add_unplaced_writes(static_cast<uint32_t>(found.places.size()));
  AccessNumbers numbers{.first_counter = *first, .first_place = place};
  if (self.owners_work) numbers.first_row = row;
  if (nodes_work()) numbers.first_node_row = row;
  return count_accesses(file, self.own.name, numbers);
}

void note_class(const CountedClass& counted) {
  Accesses& self = accesses();
  const bool is_fine = counted.outcome == InsertOutcome::kInserted || counted.outcome == InsertOutcome::kNothing;
  ++(is_fine ? self.classes : self.classes_left_out);
  self.methods_left_out += counted.methods_left_out;
  self.instructions += counted.instructions;
  self.instructions_left_out += counted.left_out;
  self.instructions_without_owner += counted.without_owner;
  self.unseen_writes += counted.unseen_writes;
  add_unplaced_writes(counted.unplaced_writes);
}

bool wants_class_files() noexcept { return accesses().armed.load(std::memory_order_acquire); }

bool put_counts_in(jobject loader, const char* name, jclass redefined, jint length, const unsigned char* bytes,
                   jint* new_length, unsigned char** new_bytes) noexcept {
  if (!wants_class_files() || loader == nullptr || name == nullptr || length <= 0 || !is_counted(name)) return false;
  CountedClass counted = with_counts(name, {bytes, static_cast<size_t>(length)}, redefined != nullptr);
  const bool is_changed =
      counted.outcome == InsertOutcome::kInserted && hand_over(counted.bytes, new_length, new_bytes);
  if (counted.outcome == InsertOutcome::kInserted && !is_changed) counted = {};
  const bool is_left_out = counted.outcome == InsertOutcome::kMalformed;
  if (is_left_out || counted.has_unnoted) accesses().ids.note_unnoted();
  if (redefined == nullptr) note_class(counted);  // else it was noted when it was loaded
  if (!is_changed) return false;
  const std::lock_guard locked(accesses().mutex);
  accesses().changed.insert(name);
  return true;
}

constexpr ClassFileListener kListener{wants_class_files, put_counts_in};

void set_class_files(bool on) {
  agent().jvmti->SetEventNotificationMode(on ? JVMTI_ENABLE : JVMTI_DISABLE, JVMTI_EVENT_CLASS_FILE_LOAD_HOOK, nullptr);
}

// --- on and off ------------------------------------------------------------------------------------------------------

jlong JNICALL native_blocks(JNIEnv*, jclass) { return static_cast<jlong>(accesses().counters.slots()); }
jlong JNICALL native_find(JNIEnv*, jclass, jlong key) { return static_cast<jlong>(accesses().counters.find(key)); }

jboolean JNICALL native_has_windows(JNIEnv*, jclass) {
  return accesses().counters.has_windows() ? JNI_TRUE : JNI_FALSE;
}

jlong JNICALL native_ids(JNIEnv*, jclass) { return static_cast<jlong>(accesses().ids.address()); }
jint JNICALL native_take_ids(JNIEnv*, jclass, jint owner) {
  return static_cast<jint>(accesses().ids.take_chunk(static_cast<uint8_t>(owner)));
}
jboolean JNICALL native_counts_allocators(JNIEnv*, jclass) {
  return agent().options.access_owners ? JNI_TRUE : JNI_FALSE;
}

jlong JNICALL native_generator(JNIEnv*, jclass) { return accesses().generator; }
void JNICALL native_owners_work(JNIEnv*, jclass, jboolean work) { accesses().owners_work = work == JNI_TRUE; }

std::span<const JNINativeMethod> natives() {
  static const std::vector<JNINativeMethod> methods = [] {
    std::vector<JNINativeMethod> all = line_natives();
    const std::vector<JNINativeMethod> of_nodes = node_natives();
    all.insert(all.end(), of_nodes.begin(), of_nodes.end());
    all.insert(all.end(),
               {
                   native_method("blocks", "()J", reinterpret_cast<void*>(native_blocks)),
                   native_method("hasWindows", "()Z", reinterpret_cast<void*>(native_has_windows)),
                   native_method("find", "(J)J", reinterpret_cast<void*>(native_find)),
                   native_method("ids", "()J", reinterpret_cast<void*>(native_ids)),
                   native_method("takeIds", "(I)I", reinterpret_cast<void*>(native_take_ids)),
                   native_method("countsAllocators", "()Z", reinterpret_cast<void*>(native_counts_allocators)),
                   native_method("generator", "()J", reinterpret_cast<void*>(native_generator)),
                   native_method("ownersWork", "(Z)V", reinterpret_cast<void*>(native_owners_work)),
               });
    return all;
  }();
  return methods;
}

struct Write {
  void operator()(const hw_access& record) const { write_access(record); }
  void operator()(const hw_access_owners& record) const { write_access_owners(record); }
  void operator()(const hw_access_pair& record) const { write_access_pair(record); }
  void operator()(const hw_access_window& record) const { write_access_window(record); }
};

int64_t write_sums(bool is_last) {
  return int64_t{accesses().counters.write_changed(is_last, Write{})} * int64_t{sizeof(hw_access)} + write_lines() +
         write_nodes();
}

// Owners and cache lines are of all writes, those between windows too: with them everything is counted.
bool has_windows(const Options& options) {
  const bool is_plain =
      !options.access_owners && !options.access_writers && !options.access_lines && !options.access_nodes;
  return is_plain && options.window_ms > 0 && options.window_period_ms / 4 >= options.window_ms;
}

// The program goes on without headway: its classes get their own bytes back.
void take_counts_out(JNIEnv* jni) {
  Accesses& self = accesses();
  if (self.dying.load()) return;
  std::set<std::string, std::less<>> changed;
  {
    const std::lock_guard locked(self.mutex);
    changed.swap(self.changed);
  }
  std::vector<jclass> types;
  for_each_loaded(jni, [&](jclass type, const std::string& name) {
    if (changed.contains(name)) types.push_back(static_cast<jclass>(jni->NewGlobalRef(type)));
  });
  for (size_t at = 0; at < types.size() && !self.dying.load(); at += kBatch) {
    const size_t count = std::min(kBatch, types.size() - at);
    agent().jvmti->RetransformClasses(static_cast<jint>(count), &types[at]);
  }
  for (jclass type : types) jni->DeleteGlobalRef(type);
}

// --- windows ---------------------------------------------------------------------------------------------------------

// The hook class's switches are as those here from now on: it is retransformed, to what it is, so that the JVM discards
// what it has compiled with the old ones. False: it may not be.
bool set_switches(JNIEnv* jni) {
  Accesses& self = accesses();
  if (self.dying.load() || jni->PushLocalFrame(kLocalRefs) != JNI_OK) return false;
  bool is_done = false;
  jfieldID field = jni->GetStaticFieldID(self.own.type, "SWITCHES", "[B");
  jobject switches = no_exception(jni) ? jni->GetStaticObjectField(self.own.type, field) : nullptr;
  if (switches != nullptr) {
    const std::vector<uint8_t> all = self.counters.switches();
    jni->SetByteArrayRegion(static_cast<jbyteArray>(switches), 0, static_cast<jsize>(all.size()),
                            reinterpret_cast<const jbyte*>(all.data()));
    is_done = no_exception(jni) && agent().jvmti->RetransformClasses(1, &self.own.type) == JVMTI_ERROR_NONE;
  }
  jni->PopLocalFrame(nullptr);
  return is_done;
}

// A window in which only some code counts would tell too little: then there is none, and nothing is estimated.
void begin_window(JNIEnv* jni) {
  Accesses& self = accesses();
  self.counters.open_window();
  if (set_switches(jni)) {
    self.counters.begin_window();
  } else if (!self.dying.load()) {
    self.windows_failed = true;
  }
}

void end_window(JNIEnv* jni) {
  accesses().counters.end_window();
  set_switches(jni);
}

// Not null: what is in the way.
const char* start_timer(JNIEnv* jni) {
  Accesses& self = accesses();
  if (!self.counters.has_windows()) return nullptr;
  const WindowTimer::Tasks edges{[] { accesses().counters.look_before_window(); }, begin_window, end_window};
  return self.timer.start(jni, agent().options.window_ms, agent().options.window_period_ms, edges);
}

const char* turn_on(JNIEnv* jni, void (*end_silenced)() noexcept) {
  Accesses& self = accesses();
  if (agent().attached) return "reads and writes are counted from the start of a JVM on only";
  jvmtiCapabilities wanted{};
  wanted.can_retransform_classes = 1;
  if (agent().jvmti->AddCapabilities(&wanted) != JVMTI_ERROR_NONE) return "the JVM allows no retransformation";
  if (const char* problem = self.writer.prepare()) return problem;
  const OwnerRules rules{agent().options.access_owners, agent().options.access_writers};
  if (rules.any()) self.generator = hash_generator_offset(jni).value_or(-1);
  const bool has_owners = self.generator >= 0;
  const OwnerRules known = has_owners ? rules : OwnerRules{};
  if (!self.counters.start(known, &self.ids, agent().options.access_nodes)) return "no memory for the counters";
  if (agent().options.access_nodes) begin_nodes(self.counters, known);
  if (has_owners && rules.last_writer && !self.ids.start()) return "no memory for who wrote last";
  if (agent().options.access_lines) {
    if (const char* problem = prepare_lines()) return problem;
  }
  if (has_windows(agent().options)) self.counters.start_windows();
  forget_classes(jni);
  self.own.natives = natives();
  if (const char* problem = define_boot_class(jni, self.own)) return problem;
  self.scope = agent().options.access_scope;
  const SumsTasks tasks{[] { return write_sums(false); }, end_silenced, nullptr, take_counts_out};
  if (const char* problem = start_timer(jni)) return problem;
  if (!self.writer.start(jni, tasks)) {
    self.timer.end();
    return "the JVM gives the agent no thread of its own";
  }
  self.armed.store(true, std::memory_order_release);
  set_class_files(true);
  for_each_loaded(jni, [&](jclass type, const std::string& name) {
    jobject loader = nullptr;
    const bool is_boot = agent().jvmti->GetClassLoader(type, &loader) == JVMTI_ERROR_NONE && loader == nullptr;
    if (!is_boot && is_counted(name)) ++self.loaded_before;
    if (loader != nullptr) jni->DeleteLocalRef(loader);
  });
  if (self.loaded_before > 0) self.ids.note_unnoted();
  if (ChunkFile* file = recording()) file->will_tell_its_end();
  return nullptr;
}

// What was not counted, for the reader of the sums.
std::string coverage() {
  const Accesses& self = accesses();
  std::string text;
  const auto add = [&text](std::string_view name, uint32_t value) {
    text += (text.empty() ? "" : ",") + std::string(name) + '=' + std::to_string(value);
  };
  add("classes", self.classes);
  add("classes_left_out", self.classes_left_out);
  add("loaded_before", self.loaded_before);
  add("methods_left_out", self.methods_left_out);
  add("instructions", self.instructions);
  add("instructions_left_out", self.instructions_left_out);
  add("threads_left_out", self.counters.threads_left_out());
  if (self.counters.has_windows()) {
    add("windows", self.counters.windows());
    add("windows_incomplete", self.counters.has_full_rows() || self.windows_failed ? 1 : 0);
  }
  if (lines_work()) text += line_coverage();
  if (nodes_work()) text += node_coverage();
  if (!self.owners_work) return text;
  add("instructions_without_owner", self.instructions_without_owner);
  add("owners", self.counters.owners());
  add("owners_left_out", self.counters.owners_left_out());
  if (!agent().options.access_writers) return text;
  add("object_ids", self.ids.given());
  add("unseen_writes", self.unseen_writes);
  add("has_unnoted", self.ids.has_unnoted() ? 1 : 0);
  return text;
}

const char* owner_rules() {
  const Options& options = agent().options;
  if (!options.access_writers) return "allocator";
  return options.access_owners ? "allocator,last-writer" : "last-writer";
}

}  // namespace

void begin_accesses(JNIEnv* jni, void (*end_silenced)() noexcept) noexcept {
  if (!agent().options.accesses) return;
  const Locked alone(agent().ending);  // an end that comes now turns all of it off
  if (recording() == nullptr || jni->PushLocalFrame(kLocalRefs) != JNI_OK) return;
  const char* const problem = turn_on(jni, end_silenced);
  write_info(problem == nullptr ? "accesses" : "accesses_problem", problem == nullptr ? "on" : problem);
  if (problem == nullptr && (agent().options.access_owners || agent().options.access_writers)) {
    write_info("access_owners", accesses().owners_work ? owner_rules() : "unknown");
  }
  if (problem == nullptr && accesses().counters.has_windows()) {
    write_info("access_windows",
               std::to_string(agent().options.window_ms) + ':' + std::to_string(agent().options.window_period_ms));
  }
  if (problem == nullptr && agent().options.access_lines) write_info("access_lines", lines_work() ? "on" : "unknown");
  if (problem == nullptr && agent().options.access_nodes) write_info("access_nodes", nodes_work() ? "on" : "unknown");
  jni->PopLocalFrame(nullptr);
}

void end_accesses_of_thread(uint64_t java_id) noexcept {
  if (!accesses().writer.is_likely_on()) return;
  const auto id = static_cast<int64_t>(java_id);
  for (const int64_t key : {id, ~id}) accesses().counters.thread_ends(key, Write{});
  end_lines_of_thread();
  end_nodes_of_thread();
}

void silence_accesses(bool dies) noexcept {
  Accesses& self = accesses();
  if (dies) self.dying = true;
  if (!self.writer.is_on()) return;
  const Locked alone(agent().ending);  // else another thread might release the file while the sums are written
  if (!self.writer.end()) return;
  self.armed = false;
  silence_lines();
  silence_nodes();
  set_class_files(false);
  self.timer.end();
  self.counters.end_windows();
  self.writer.write_last([] {
    write_sums(true);
    write_last_info("accesses_coverage", coverage());
    write_last_info("accesses_end", "complete");
  });
}

const ClassFileListener& access_listener() noexcept { return kListener; }

}  // namespace headway::agent
