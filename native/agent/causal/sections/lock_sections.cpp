#include "agent/causal/sections/lock_sections.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "agent/causal/common/point_match.h"
#include "agent/classfile/class_parts.h"

namespace headway::agent::causal {
namespace {

constexpr uint16_t kStatic = 0x0008;
constexpr uint16_t kSynchronized = 0x0020;
constexpr HeldStretch kWholeMethod{INT32_MIN, INT32_MAX};  // also the indices that are none: native methods have -3
constexpr size_t kMostSites = 64;                          // of a method
constexpr int kMostSteps = 8;                              // back from a lock to what tells its class
constexpr std::string_view kLocks = "java.util.concurrent.locks.";
enum Opcodes : uint8_t {
  kLdc = 18,
  kLdcW = 19,
  kALoad = 25,
  kALoad0 = 42,
  kALoad3 = 45,
  kAStore = 58,
  kAStore0 = 75,
  kAStore3 = 78,
  kDup = 89,
  kIfEq = 153,
  kIfNe = 154,
  kGoto = 167,
  kRet = 169,
  kIReturn = 172,
  kReturn = 177,
  kGetStatic = 178,
  kGetField = 180,
  kInvokeVirtual = 182,
  kInvokeStatic = 184,
  kInvokeInterface = 185,
  kAThrow = 191,
  kCheckCast = 192,
  kMonitorEnter = 194,
  kMonitorExit = 195,
  kGotoW = 200
};

enum class Effect : uint8_t { kNone, kTakes, kTries, kReleases };

// What a call does with a lock of java.util.concurrent, by its name: owners are whatever the program declares.
Effect effect_of(const ClassFile::Member& member) {
  const std::string_view name = member.name;
  const std::string_view descriptor = member.descriptor;
  if (descriptor == "()V" && (name == "lock" || name == "lockInterruptibly")) return Effect::kTakes;
  if (descriptor == "()V" && name == "unlock") return Effect::kReleases;
  const bool tries = descriptor == "()Z" || descriptor == "(JLjava/util/concurrent/TimeUnit;)Z";
  if (tries && name == "tryLock") return Effect::kTries;
  if (member.owner != "java/util/concurrent/locks/StampedLock") return Effect::kNone;
  if (descriptor == "()J" && (name == "writeLock" || name == "readLock")) return Effect::kTakes;
  const bool releases = name == "unlock" || name == "unlockWrite" || name == "unlockRead";
  return descriptor == "(J)V" && releases ? Effect::kReleases : Effect::kNone;
}

// "Ljava/lang/Object;" as "java/lang/Object"; empty: no class.
std::string_view class_of(std::string_view type) {
  return type.size() > 2 && type.front() == 'L' && type.back() == ';' ? type.substr(1, type.size() - 2)
                                                                      : std::string_view();
}

// The type of the parameter in that slot of the local variables; empty: there is none.
std::string_view parameter(std::string_view descriptor, uint32_t slot, bool is_static) {
  uint32_t here = is_static ? 0 : 1;
  for (size_t at = 1; at < descriptor.size() && descriptor[at] != ')';) {
    const size_t start = at;
    while (at < descriptor.size() && descriptor[at] == '[') ++at;
    const bool is_wide = at == start && at < descriptor.size() && (descriptor[at] == 'J' || descriptor[at] == 'D');
    at = at < descriptor.size() && descriptor[at] == 'L' ? descriptor.find(';', at) : at;
    if (at == std::string_view::npos) return {};
    ++at;
    if (here == slot) return descriptor.substr(start, at - start);
    here += is_wide ? 2 : 1;
  }
  return {};
}

struct Site {
  uint32_t at;
  bool is_monitor;
  std::string type;
  std::string name;  // of the expression that the lock was called on, as far as it is simple
};

// One method, its instructions, and what each does with locks.
class MethodLocks {
 public:
  MethodLocks(const ClassParts& parts, const MethodAt& method)
      : file_(parts.file), parts_(parts), method_(method), code_(method.code.code) {}

  // False: the code can't be read, or takes no lock.
  bool find_sites() {
    is_target_.assign(code_.size(), false);
    std::vector<uint32_t> targets;
    for (size_t at = 0; at < code_.size();) {
      const size_t length = instruction_length(code_, at);
      if (length == 0 || !jump_targets(code_, at, targets)) return false;
      starts_.push_back(static_cast<uint32_t>(at));
      at += length;
    }
    for (const uint32_t target : targets) {
      if (!std::ranges::binary_search(starts_, target)) return false;
      is_target_[target] = true;
    }
    for (size_t index = 0; index < starts_.size(); ++index) find_site(index);
    return !sites_.empty();
  }

  const std::vector<Site>& sites() const { return sites_; }

  // For each site, where its lock is held.
  std::vector<std::vector<HeldStretch>> held() {
    states_.assign(code_.size(), std::nullopt);
    flow_into(0, {});
    while (!open_.empty()) {
      const uint32_t at = open_.back();
      open_.pop_back();
      step(at, *states_[at]);
    }
    std::vector<std::vector<HeldStretch>> found(sites_.size());
    for (const uint32_t at : starts_) {
      if (!states_[at]) continue;
      const auto end = static_cast<int32_t>(at + instruction_length(code_, at));
      for (const uint8_t site : *states_[at]) {
        std::vector<HeldStretch>& held = found[site];
        if (!held.empty() && held.back().to == static_cast<int32_t>(at)) {
          held.back().to = end;
        } else {
          held.push_back({static_cast<int32_t>(at), end});
        }
      }
    }
    return found;
  }

 private:
  using State = std::vector<uint8_t>;  // sites whose locks are held, as they were taken

  uint16_t operand(size_t at) const { return Reader(code_, at + 1).u2(); }
  std::optional<ClassFile::Member> called(size_t at) const {
    if (code_[at] < kInvokeVirtual || code_[at] > kInvokeInterface) return std::nullopt;
    return file_.member(operand(at));
  }

  void find_site(size_t index) {
    if (sites_.size() == kMostSites) return;
    const uint32_t at = starts_[index];
    if (code_[at] == kMonitorEnter) {
      takes_[at] = static_cast<uint8_t>(sites_.size());
      sites_.push_back({at, true, index == 0 ? std::string() : type_pushed(index - 1, kMostSteps), {}});
      return;
    }
    const auto member = called(at);
    const Effect effect = member ? effect_of(*member) : Effect::kNone;
    if (effect != Effect::kTakes && effect != Effect::kTries) return;
    uint32_t from = at;
    if (effect == Effect::kTries) {
      // The lock is held where the test that follows goes when it was had.
      if (index + 1 == starts_.size()) return;
      from = starts_[index + 1];
      if ((code_[from] != kIfEq && code_[from] != kIfNe) || is_target_[from]) return;
    }
    takes_[from] = static_cast<uint8_t>(sites_.size());
    sites_.push_back({at, false, std::string(member->owner), receiver(index)});
  }

  // --- what the code says of a lock ---

  // The local variable that an instruction loads (`load` kALoad) or stores (kAStore); -1: none.
  int variable(size_t at, uint8_t load) const {
    const uint8_t first = load == kALoad ? kALoad0 : kAStore0;
    const uint8_t opcode = code_[at];
    if (opcode == load) return Reader(code_, at + 1).u1();
    if (opcode >= first && opcode <= first + 3) return opcode - first;
    if (opcode == kWide && Reader(code_, at + 1).u1() == load) return Reader(code_, at + 2).u2();
    return -1;
  }

  // The class of what the expression that ends with that instruction leaves on the stack.
  std::string type_pushed(size_t index, int steps) const {
    const uint32_t at = starts_[index];
    const uint8_t opcode = code_[at];
    if (steps == 0) return {};
    if (opcode == kDup || variable(at, kAStore) >= 0) return index == 0 ? "" : type_pushed(index - 1, steps - 1);
    if (const int loaded = variable(at, kALoad); loaded >= 0) return type_of_variable(index, loaded, steps - 1);
    if (opcode == kCheckCast) return std::string(file_.class_name(operand(at)));
    if (opcode == kLdc || opcode == kLdcW) {
      const uint16_t constant = opcode == kLdc ? Reader(code_, at + 1).u1() : operand(at);
      return file_.tag(constant) == kClass ? "java/lang/Class" : "";
    }
    if (opcode == kGetStatic || opcode == kGetField) {
      const auto field = file_.member(operand(at));
      return field ? std::string(class_of(field->descriptor)) : std::string();
    }
    const auto member = called(at);
    if (!member) return {};
    if (member->name == "<init>") return std::string(member->owner);
    return std::string(class_of(member->descriptor.substr(member->descriptor.rfind(')') + 1)));
  }

  std::string type_of_variable(size_t index, int variable_, int steps) const {
    for (size_t before = index; before-- > 1;) {
      if (variable(starts_[before], kAStore) == variable_) return type_pushed(before - 1, steps);
    }
    const bool is_static = (method_.access & kStatic) != 0;
    if (variable_ == 0 && !is_static) return std::string(parts_.name);
    return std::string(class_of(parameter(method_.descriptor, static_cast<uint32_t>(variable_), is_static)));
  }

  std::string receiver(size_t index) const {
    if (index == 0) return {};
    const uint32_t at = starts_[index - 1];
    if (const int loaded = variable(at, kALoad); loaded >= 0) return "variable " + std::to_string(loaded);
    const uint8_t opcode = code_[at];
    const bool is_member = opcode == kGetStatic || opcode == kGetField || called(at).has_value();
    const auto member = is_member ? file_.member(operand(at)) : std::nullopt;
    return member ? std::string(member->owner) + '.' + std::string(member->name) : std::string();
  }

  // --- what is held ---

  void release(State& state, size_t index, const ClassFile::Member& member) const {
    const std::string name = receiver(index);
    size_t best = state.size();
    int best_fit = 0;
    for (size_t i = 0; i < state.size(); ++i) {
      const Site& site = sites_[state[i]];
      if (site.is_monitor) continue;
      const int fit = 1 + (site.type == member.owner ? 1 : 0) + (!name.empty() && site.name == name ? 2 : 0);
      if (fit >= best_fit) best = i;
      best_fit = std::max(best_fit, fit);
    }
    if (best < state.size()) state.erase(state.begin() + static_cast<ptrdiff_t>(best));
  }

  State after(uint32_t at, State state) const {
    if (const auto taken = takes_.find(at); taken != takes_.end() && code_[at] != kIfEq && code_[at] != kIfNe) {
      return with(std::move(state), taken->second);
    }
    if (code_[at] == kMonitorExit) {
      const auto last =
          std::find_if(state.rbegin(), state.rend(), [&](uint8_t site) { return sites_[site].is_monitor; });
      if (last != state.rend()) state.erase(std::next(last).base());
    } else if (const auto member = called(at); member && effect_of(*member) == Effect::kReleases) {
      release(state, static_cast<size_t>(std::ranges::lower_bound(starts_, at) - starts_.begin()), *member);
    }
    return state;
  }

  static State with(State state, uint8_t site) {
    if (std::ranges::find(state, site) == state.end()) state.push_back(site);
    return state;
  }

  void step(uint32_t at, const State& before) {
    // What an instruction throws leaves locks as they were before it.
    for (const Handler& handler : method_.code.handlers) {
      if (at < handler.start || at >= handler.end) continue;
      flow_into(handler.handler, before);
      if (handler.type == 0) break;  // nothing gets past it
    }
    const State now = after(at, before);
    std::vector<uint32_t> targets;
    jump_targets(code_, at, targets);
    const uint8_t opcode = code_[at];
    const auto tried = opcode == kIfEq || opcode == kIfNe ? takes_.find(at) : takes_.end();
    const bool is_tried = tried != takes_.end();
    for (const uint32_t target : targets) {
      flow_into(target, is_tried && opcode == kIfNe ? with(now, tried->second) : now);
    }
    const bool ends = opcode == kGoto || opcode == kGotoW || opcode == kAThrow || opcode == kRet ||
                      opcode == kTableSwitch || opcode == kLookupSwitch || (opcode >= kIReturn && opcode <= kReturn);
    if (ends) return;
    const auto next = static_cast<uint32_t>(at + instruction_length(code_, at));
    flow_into(next, is_tried && opcode == kIfEq ? with(now, tried->second) : now);
  }

  void flow_into(uint32_t at, const State& state) {
    if (at >= states_.size() || !std::ranges::binary_search(starts_, at)) return;
    std::optional<State>& known = states_[at];
    if (!known) {
      known = state;
      open_.push_back(at);
      return;
    }
    const size_t lost =
        std::erase_if(*known, [&](uint8_t site) { return std::ranges::find(state, site) == state.end(); });
    if (lost > 0) open_.push_back(at);
  }

  const ClassFile& file_;
  const ClassParts& parts_;
  const MethodAt& method_;
  std::span<const uint8_t> code_;
  std::vector<uint32_t> starts_;
  std::vector<bool> is_target_;
  std::vector<Site> sites_;
  std::map<uint32_t, uint8_t> takes_;  // after this instruction (a test: on one of its ways) the site's lock is held
  std::vector<std::optional<State>> states_;
  std::vector<uint32_t> open_;
};

int32_t line_at(std::span<const LineStart> lines, uint32_t at) {
  int32_t line = -1;
  for (const LineStart& start : lines) {
    if (start.at <= at) line = start.line;
  }
  return line;
}

LockingMethod locks_of(const ClassParts& parts, const MethodAt& method) {
  LockingMethod found{std::string(method.name), std::string(method.descriptor), {}};
  const std::vector<LineStart> lines = line_starts(parts.file, method.code);
  if ((method.access & kSynchronized) != 0) {
    const bool is_static = (method.access & kStatic) != 0;
    const int32_t line = lines.empty() ? -1 : lines.front().line;
    found.sections.push_back({is_static ? "java/lang/Class" : std::string(parts.name), line, {kWholeMethod}});
  }
  if (method.attribute_at == 0) return found;
  MethodLocks locks(parts, method);
  if (!locks.find_sites()) return found;
  std::vector<std::vector<HeldStretch>> held = locks.held();
  for (size_t site = 0; site < held.size(); ++site) {
    if (held[site].empty()) continue;
    const Site& facts = locks.sites()[site];
    found.sections.push_back({facts.type, line_at(lines, facts.at), std::move(held[site])});
  }
  return found;
}

// "java.util.concurrent.locks.ReentrantLock$NonfairSync" belongs to ReentrantLock.
std::string_view outermost(std::string_view name) { return name.substr(0, name.find('$')); }

bool is_view(std::string_view name) { return name.ends_with("$ReadLock") || name.ends_with("$WriteLock"); }

bool means_type(std::string_view asked, std::string_view type) {
  if (type.empty()) return false;
  if (means_class(asked, type)) return true;
  if (!asked.starts_with(kLocks) || !type.starts_with(kLocks)) return false;
  const std::string_view name = type.substr(kLocks.size());
  if (name == "Lock" || name == "ReadWriteLock") return true;
  return !is_view(asked) && outermost(asked) == outermost(type);
}

}  // namespace

std::vector<LockingMethod> lock_sections(std::span<const uint8_t> class_file) noexcept {
  std::vector<LockingMethod> found;
  const std::optional<ClassParts> parts = read_class(class_file);
  if (!parts) return found;
  for (const MethodAt& method : parts->methods) {
    LockingMethod locks = locks_of(*parts, method);
    if (!locks.sections.empty()) found.push_back(std::move(locks));
  }
  return found;
}

bool means_section(const Place& asked, std::string_view class_name, const LockingMethod& method,
                   const LockSection& section) noexcept {
  const std::string_view name = asked.class_name;
  if (asked.line > 0) return means_class(name, class_name) && section.line == asked.line;
  if (means_class(name, class_name) || means_type(name, dotted(section.type))) return true;
  const size_t dot = name.rfind('.');
  return dot != std::string_view::npos && name.substr(dot + 1) == method.name &&
         means_class(name.substr(0, dot), class_name);
}

bool may_mean_sections_of(const Place& asked, std::string_view class_name) noexcept {
  const std::string_view name = asked.class_name;
  if (means_class(name, class_name)) return true;
  const size_t dot = name.rfind('.');
  return asked.line <= 0 && dot != std::string_view::npos && means_class(name.substr(0, dot), class_name);
}

}  // namespace headway::agent::causal
