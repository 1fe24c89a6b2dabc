// Redirects call sites of a Java class in place (docs/decisions/0005-locks.md): the class file keeps every instruction
// at its address, only the constant pool grows, at its end. So stack maps, line numbers and exception tables stay
// valid.
//
// Knows nothing of the JVM, throws nothing, reads nothing out of bounds, whatever the bytes are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace headway::agent {

// The instructions that can be redirected: each takes a receiver or nothing, and becomes an invokestatic of the same
// stack effect, followed by two nop where it had five bytes.
enum class Opcode : uint8_t { kInvokeVirtual = 182, kInvokeStatic = 184, kInvokeInterface = 185 };

// Every instruction `opcode` that names `member` of `owner`; in the method `in_method` only, if that is not empty.
struct CallSite {
  Opcode opcode;
  std::string_view owner;  // "jdk/internal/misc/Unsafe"
  std::string_view member;
  std::string_view descriptor;
  std::string_view in_method;
  std::string_view hook;  // the static method of the hook class that is called instead
  std::string_view hook_descriptor;
};

enum class PatchOutcome {
  kPatched,
  kAlreadyPatched,  // nothing left to redirect, and the hook class is called already
  kNoSite,          // nothing to redirect: a class body that we do not know
  kMalformed        // no class file, a damaged one, or no room in its constant pool
};

struct Patch {
  PatchOutcome outcome = PatchOutcome::kMalformed;
  std::vector<uint8_t> bytes;  // the new class file, when kPatched
  size_t sites = 0;            // redirected now
};

Patch redirect_calls(std::span<const uint8_t> class_file, std::span<const CallSite> sites,
                     std::string_view hook_class) noexcept;

}  // namespace headway::agent
