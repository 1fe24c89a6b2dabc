#include "agent/classfile/class_facts.h"

#include <algorithm>

#include "agent/classfile/class_parts.h"

namespace headway::agent {
namespace {

constexpr uint16_t kSynchronized = 0x0020;
constexpr uint8_t kMonitorExit = 195;

bool jumps_back(const CodeParts& code) {
  std::vector<uint32_t> targets;
  for (size_t at = 0; at < code.code.size();) {
    const size_t length = instruction_length(code.code, at);
    targets.clear();
    if (length == 0 || !jump_targets(code.code, at, targets)) return false;
    if (std::ranges::any_of(targets, [at](uint32_t target) { return target <= at; })) return true;
    at += length;
  }
  return false;
}

bool exits_monitor(const CodeParts& code) {
  if (std::ranges::find(code.code, uint8_t{kMonitorExit}) == code.code.end())
    return false;  // not even as part of another one
  for (size_t at = 0; at < code.code.size();) {
    const size_t length = instruction_length(code.code, at);
    if (length == 0) return false;
    if (code.code[at] == kMonitorExit) return true;
    at += length;
  }
  return false;
}

bool locks(const MethodAt& method) { return (method.access & kSynchronized) != 0 || exits_monitor(method.code); }

MethodFacts method_facts(const ClassParts& parts, const MethodAt& method) {
  MethodFacts facts{.name = method.name, .descriptor = method.descriptor, .access = method.access};
  facts.code_bytes = static_cast<uint32_t>(method.code.code.size());
  if (facts.code_bytes == 0) return facts;
  for (const LineStart& start : line_starts(parts.file, method.code)) facts.lines.push_back(start.line);
  std::ranges::sort(facts.lines);
  facts.lines.erase(std::unique(facts.lines.begin(), facts.lines.end()), facts.lines.end());
  facts.has_loop = jumps_back(method.code);
  facts.locks = locks(method);
  facts.forwards = forwards_to(parts, method);
  return facts;
}

}  // namespace

bool releases_locks(std::span<const uint8_t> class_file) noexcept {
  const std::optional<ClassParts> parts = read_class(class_file);
  const auto has_code = [](const MethodAt& method) { return !method.code.code.empty(); };
  return parts && std::ranges::any_of(parts->methods, [&](const auto& each) { return has_code(each) && locks(each); });
}

ClassFacts class_facts(std::span<const uint8_t> class_file) noexcept {
  ClassFacts facts;
  const std::optional<ClassParts> parts = read_class(class_file);
  if (!parts) return facts;
  facts.ok = true;
  facts.name = parts->name;
  facts.source_file = parts->source_file;
  facts.source_map = parts->source_map;
  facts.interfaces = parts->interfaces;
  for (const MethodAt& method : parts->methods) facts.methods.push_back(method_facts(*parts, method));
  return facts;
}

}  // namespace headway::agent
