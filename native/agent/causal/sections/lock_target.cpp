#include "agent/causal/sections/lock_target.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "agent/causal/common/method_table.h"
#include "agent/causal/common/notes.h"
#include "agent/causal/common/options.h"
#include "agent/causal/common/point_match.h"
#include "agent/causal/sections/lock_sections.h"
#include "agent/core/clock.h"
#include "agent/core/scope.h"
#include "agent/state/state.h"

namespace headway::agent::causal {
namespace {

constexpr int64_t kPatienceNs = 3'000'000'000;  // for classes to be loaded, before it is said that none has such a lock
constexpr size_t kMostOthers = 500;

// Of a method that handlers know. Never freed: a handler may look at it.
struct HeldIn {
  uint32_t recording;
  std::vector<HeldStretch> held;
};

using Held = std::vector<HeldStretch>;
struct ClassSections {
  std::map<std::string, Held, std::less<>> methods;  // by name and descriptor
  bool is_resolved = false;
};

struct Sections {
  std::mutex mutex;  // guards all but what handlers read; never held across a call into the JVM
  std::map<std::string, ClassSections, std::less<>> classes;
  std::vector<std::string> others;  // sections that were not meant
  MethodTable<HeldIn> methods;
  MethodTable<bool> waits;  // methods that give a lock back
  std::atomic<uint32_t> recording{0};
  std::atomic<uint32_t> unresolved{0};
  std::atomic<bool> is_any{false};
  bool has_reported = false;
  int64_t begun_ns = 0;
};
Sections& sections() {
  static Sections* const instance = new Sections;
  return *instance;
}
// What handlers reach it by: the function above may be about to make it.
std::atomic<Sections*> published{nullptr};

constexpr bool kIsWait = true;

bool is_wanted() { return causal_spec().target.kind == TargetKind::kLock; }

// "com.acme.Store:42 (java.lang.Object)".
std::string described(const std::string& class_name, const LockingMethod& method, const LockSection& section) {
  std::string text = class_name + (section.line > 0 ? ':' + std::to_string(section.line) : '.' + method.name);
  return section.type.empty() ? text : text + " (" + dotted(section.type) + ')';
}

// Under the lock.
void count_unresolved(Sections& self) {
  const auto is_open = [](const auto& each) { return !each.second.is_resolved; };
  self.unresolved.store(static_cast<uint32_t>(std::ranges::count_if(self.classes, is_open)));
}

bool may_wait(std::string_view internal_name) {
  return internal_name == "java/lang/Object" || (internal_name.starts_with("java/util/concurrent/locks/Abstract") &&
                                                 internal_name.ends_with("$ConditionObject"));
}

std::string method_key(jmethodID method) {
  char* name = nullptr;
  char* descriptor = nullptr;
  std::string key;
  if (agent().jvmti->GetMethodName(method, &name, &descriptor, nullptr) == JVMTI_ERROR_NONE) {
    key = std::string(name) + descriptor;
    agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(name));
    agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(descriptor));
  }
  return key;
}

}  // namespace

void clear_sections() noexcept {
  Sections& self = sections();
  const std::lock_guard guard(self.mutex);
  self.recording.fetch_add(1);
  self.classes.clear();
  self.others.clear();
  self.unresolved = 0;
  self.is_any = false;
  self.has_reported = false;
  self.begun_ns = monotonic_ns();
  published.store(&self, std::memory_order_release);
}

bool may_have_sections(std::string_view internal_name) noexcept {
  if (!is_wanted()) return false;
  const std::string name = dotted(internal_name);
  return in_scope(causal_spec().scope, name) || may_mean_sections_of(causal_spec().target.place, name);
}

void note_sections(std::string_view internal_name, std::span<const uint8_t> class_file) noexcept {
  if (!may_have_sections(internal_name)) return;
  const Place& asked = causal_spec().target.place;
  const std::string class_name = dotted(internal_name);
  ClassSections found;
  std::vector<std::string> others;
  for (const LockingMethod& method : lock_sections(class_file)) {
    for (const LockSection& section : method.sections) {
      if (means_section(asked, class_name, method, section)) {
        Held& held = found.methods[method.name + method.descriptor];
        held.insert(held.end(), section.held.begin(), section.held.end());
      } else {
        others.push_back(described(class_name, method, section));
      }
    }
  }
  Sections& self = sections();
  const std::lock_guard guard(self.mutex);
  const size_t room = kMostOthers - std::min(kMostOthers, self.others.size());
  others.resize(std::min(others.size(), room));
  self.others.insert(self.others.end(), others.begin(), others.end());
  const auto known = self.classes.find(internal_name);
  if (found.methods.empty() && known == self.classes.end()) return;
  // A method that had sections in an older version of the class has none any more, or others.
  if (known != self.classes.end()) {
    for (const auto& [key, held] : known->second.methods) found.methods.try_emplace(key);
  }
  self.classes.insert_or_assign(std::string(internal_name), std::move(found));
  count_unresolved(self);
}

bool has_unresolved_sections() noexcept { return sections().unresolved.load() != 0; }

bool is_unresolved(std::string_view internal_name) noexcept {
  Sections& self = sections();
  const std::lock_guard guard(self.mutex);
  const auto known = self.classes.find(internal_name);
  return known != self.classes.end() && !known->second.is_resolved;
}

void note_waits(jclass type, std::string_view internal_name) noexcept {
  if (!is_wanted() || !may_wait(internal_name)) return;
  jint count = 0;
  jmethodID* methods = nullptr;
  if (agent().jvmti->GetClassMethods(type, &count, &methods) != JVMTI_ERROR_NONE) return;
  for (jint i = 0; i < count; ++i) {
    const std::string key = method_key(methods[i]);
    if (!key.starts_with("wait") && !key.starts_with("await")) continue;
    const std::lock_guard guard(sections().mutex);
    sections().waits.put(reinterpret_cast<uintptr_t>(methods[i]), &kIsWait);
  }
  agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(methods));
}

void resolve_sections(jclass type, std::string_view internal_name) noexcept {
  if (!is_wanted()) return;
  note_waits(type, internal_name);
  Sections& self = sections();
  {
    const std::lock_guard guard(self.mutex);
    if (!self.classes.contains(internal_name)) return;
  }
  jint count = 0;
  jmethodID* methods = nullptr;
  // This makes the jmethodIDs, without which AsyncGetCallTrace leaves a frame's method out.
  if (agent().jvmti->GetClassMethods(type, &count, &methods) != JVMTI_ERROR_NONE) return;
  std::vector<std::string> keys;
  keys.reserve(static_cast<size_t>(count));
  for (jint i = 0; i < count; ++i) keys.push_back(method_key(methods[i]));
  {
    const std::lock_guard guard(self.mutex);
    // Another class of that name may come, from another loader: what is known of it stays.
    ClassSections& known = self.classes[std::string(internal_name)];
    for (jint i = 0; i < count; ++i) {
      const auto held = known.methods.find(keys[static_cast<size_t>(i)]);
      if (held == known.methods.end()) continue;
      auto* const copy = new HeldIn{self.recording.load(), held->second};
      if (!self.methods.put(reinterpret_cast<uintptr_t>(methods[i]), copy)) delete copy;
      if (!held->second.empty()) self.is_any = true;
    }
    known.is_resolved = true;
    count_unresolved(self);
  }
  agent().jvmti->Deallocate(reinterpret_cast<unsigned char*>(methods));
}

bool knows_sections() noexcept { return sections().is_any.load(); }

void poll_sections(bool at_once) noexcept {
  Sections& self = sections();
  if (!is_wanted() || self.is_any || self.has_reported || (!at_once && monotonic_ns() - self.begun_ns < kPatienceNs))
    return;
  self.has_reported = true;
  std::string near;
  {
    const std::lock_guard guard(self.mutex);
    for (const std::string& name : nearest_names(causal_spec().target.place.text, self.others)) {
      near += (near.empty() ? "" : ", ") + name;
    }
  }
  problem("HW640", "no class that is loaded takes a lock that is " + causal_spec().target.place.text +
                       (near.empty() ? "; no class in scope takes any" : "; locks are taken at " + near));
}

bool is_in_section(jmethodID method, jint bci) noexcept {
  Sections* const self = published.load(std::memory_order_acquire);
  if (self == nullptr || method == nullptr) return false;
  const HeldIn* const known = self->methods.find(reinterpret_cast<uintptr_t>(method));
  if (known == nullptr || known->recording != self->recording.load(std::memory_order_relaxed)) return false;
  for (const HeldStretch& stretch : known->held) {
    if (stretch.from <= bci && bci < stretch.to) return true;
  }
  return false;
}

bool gives_lock_back(jmethodID method) noexcept {
  Sections* const self = published.load(std::memory_order_acquire);
  return self != nullptr && method != nullptr && self->waits.find(reinterpret_cast<uintptr_t>(method)) != nullptr;
}

}  // namespace headway::agent::causal
