#include "agent/classfile/class_patch.h"

#include <algorithm>

#include "agent/classfile/class_file.h"

namespace headway::agent {
namespace {

struct Edit {
  size_t at;  // in the file
  size_t length;
  const CallSite* site;
};

const CallSite* matching(const ClassFile& file, std::string_view method, std::span<const uint8_t> code, size_t at,
                         std::span<const CallSite> sites) {
  for (const CallSite& site : sites) {
    if (code[at] != static_cast<uint8_t>(site.opcode) || (!site.in_method.empty() && site.in_method != method))
      continue;
    const auto member = file.member(Reader(code, at + 1).u2());
    if (member && member->owner == site.owner && member->name == site.member && member->descriptor == site.descriptor) {
      return &site;
    }
  }
  return nullptr;
}

// Finds what is to be edited, and whether the hook class is called already. False: malformed.
bool find_edits(const ClassFile& file, std::span<const CallSite> sites, std::string_view hook_class,
                std::vector<Edit>& edits, bool& has_hook) {
  return file.for_each_code([&](std::string_view method, std::span<const uint8_t> code, size_t code_at) {
    for (size_t at = 0; at < code.size();) {
      const size_t length = instruction_length(code, at);
      if (length == 0) return false;
      if (const CallSite* site = matching(file, method, code, at, sites)) edits.push_back({code_at + at, length, site});
      if (code[at] == static_cast<uint8_t>(Opcode::kInvokeStatic)) {
        const auto member = file.member(Reader(code, at + 1).u2());
        has_hook = has_hook || (member && member->owner == hook_class);
      }
      at += length;
    }
    return true;
  });
}

}  // namespace

Patch redirect_calls(std::span<const uint8_t> class_file, std::span<const CallSite> sites,
                     std::string_view hook_class) noexcept {
  Patch patch;
  ClassFile file(class_file);
  std::vector<Edit> edits;
  bool has_hook = false;
  if (!file.read_constants() || !find_edits(file, sites, hook_class, edits, has_hook)) return patch;
  if (edits.empty()) {
    patch.outcome = has_hook ? PatchOutcome::kAlreadyPatched : PatchOutcome::kNoSite;
    return patch;
  }
  NewConstants added(file.count());
  const uint16_t owner = added.reference(kClass, added.utf8(hook_class));
  std::vector<uint16_t> methods(sites.size(), 0);
  for (const Edit& edit : edits) {
    uint16_t& method = methods[static_cast<size_t>(edit.site - sites.data())];
    if (method != 0) continue;
    const uint16_t name = added.utf8(edit.site->hook);
    method = added.pair(kMethodref, owner, added.pair(kNameAndType, name, added.utf8(edit.site->hook_descriptor)));
  }
  if (added.overflowed()) return patch;

  std::vector<uint8_t>& out = patch.bytes;
  const auto end = class_file.begin() + static_cast<ptrdiff_t>(file.end_of_constants());
  out.reserve(class_file.size() + added.bytes().size());
  out.assign(class_file.begin(), end);
  out[8] = static_cast<uint8_t>(added.count() >> 8);
  out[9] = static_cast<uint8_t>(added.count());
  out.insert(out.end(), added.bytes().begin(), added.bytes().end());
  out.insert(out.end(), end, class_file.end());
  for (const Edit& edit : edits) {
    uint8_t* at = out.data() + edit.at + added.bytes().size();
    const uint16_t method = methods[static_cast<size_t>(edit.site - sites.data())];
    at[0] = static_cast<uint8_t>(Opcode::kInvokeStatic);
    at[1] = static_cast<uint8_t>(method >> 8);
    at[2] = static_cast<uint8_t>(method);
    std::fill(at + 3, at + edit.length, uint8_t{0});
  }
  patch.sites = edits.size();
  patch.outcome = PatchOutcome::kPatched;
  return patch;
}

}  // namespace headway::agent
