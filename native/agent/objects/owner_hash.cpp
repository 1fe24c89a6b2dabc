#include "agent/objects/owner_hash.h"

#include <array>
#include <cstring>
#include <vector>

#include "agent/hotspot/hotspot.h"
#include "agent/jvm/boot_classes.h"
#include "agent/jvm/identity_hash.h"
#include "agent/state/state.h"

namespace headway::agent {
namespace {

constexpr size_t kMostBytes = 8192, kPiece = 128;
constexpr int kRounds = 6;
constexpr uint32_t kHashMask = 0x7FFFFFFF;

using Memory = std::vector<uint8_t>;

// As much of it as is mapped.
Memory copy_of(int64_t address) {
  Memory copy(kMostBytes);
  size_t bytes = 0;
  while (bytes < kMostBytes &&
         safe_read(reinterpret_cast<const void*>(address + static_cast<int64_t>(bytes)), &copy[bytes], kPiece)) {
    bytes += kPiece;
  }
  copy.resize(bytes);
  return copy;
}

// What a generator with its state at `at` gives next: Marsaglia's xorshift, as in HotSpot's synchronizer.cpp.
uint32_t next_hash(const Memory& memory, size_t at) {
  std::array<uint32_t, 4> state{};  // W, X, Y, Z
  std::memcpy(state.data(), &memory[at], sizeof state);
  const auto [last, first, second, third] = state;
  const uint32_t shifted = first ^ (first << 11);
  const uint32_t hash = ((last ^ (last >> 19)) ^ (shifted ^ (shifted >> 8))) & kHashMask;
  return hash == 0 ? 0xBAD : hash;
}

uint32_t hash_of_new_object(JNIEnv* jni, jclass type) {
  jobject object = jni->AllocObject(type);
  if (!no_exception(jni) || object == nullptr) return 0;
  const uint32_t hash = identity_hash(object);
  jni->DeleteLocalRef(object);
  return hash;
}

}  // namespace

std::optional<int64_t> hash_generator_offset(JNIEnv* jni) noexcept {
  jclass type = boot_class(jni, "java/lang/Object");
  jthread thread = nullptr;
  if (type == nullptr || agent().thread_eetop == nullptr ||
      agent().jvmti->GetCurrentThread(&thread) != JVMTI_ERROR_NONE || thread == nullptr) {
    return std::nullopt;
  }
  const int64_t address = jni->GetLongField(thread, agent().thread_eetop);
  if (address == 0) return std::nullopt;
  std::vector<size_t> candidates;
  for (int round = 0; round < kRounds; ++round) {
    const Memory before = copy_of(address);
    const uint32_t hash = hash_of_new_object(jni, type);
    if (hash == 0 || before.size() < 16) return std::nullopt;
    if (round == 0) {
      for (size_t at = 0; at + 16 <= before.size(); at += 4) candidates.push_back(at);
    }
    std::erase_if(candidates, [&](size_t at) { return at + 16 > before.size() || next_hash(before, at) != hash; });
  }
  if (candidates.size() != 1) return std::nullopt;
  return static_cast<int64_t>(candidates.front());
}

}  // namespace headway::agent
