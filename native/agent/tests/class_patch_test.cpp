// Redirecting calls in the real class files of JDK 17 and 25, in damaged ones and in foreign ones.
//   class_patch_test DIR      with DIR/17 and DIR/25 as ExtractClasses.java makes them
#include "agent/classfile/class_patch.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "agent/classfile/class_file.h"
#include "agent/hooks/hook_sites.h"
#include "testing/check.h"

using namespace headway::agent;

namespace {

using Bytes = std::vector<uint8_t>;

constexpr char kHook[] = "jdk/internal/misc/HeadwayHook0";
std::filesystem::path classes;

Bytes read(const std::string& jdk, const std::string& name) {
  std::ifstream in(classes / jdk / (name + ".class"), std::ios::binary);
  CHECK(in.good());
  return {std::istreambuf_iterator<char>(in), {}};
}

Patch patch(const Bytes& bytes, std::span<const CallSite> sites) { return redirect_calls(bytes, sites, kHook); }

size_t count_of(const Bytes& bytes, std::string_view text) {
  size_t found = 0;
  for (auto at = bytes.begin();; ++found) {
    at = std::search(at, bytes.end(), text.begin(), text.end());
    if (at++ == bytes.end()) return found;
  }
}

uint32_t constants(const Bytes& bytes) { return static_cast<uint32_t>(bytes[8]) << 8 | bytes[9]; }

// The sites by javap -c -p: LockSupport of JDK 17 has six parks and an unpark; that of 25 has five parks of virtual
// threads and five of platform threads (parkUntil(Object) calls its namesake), and an unpark of each. VirtualThread of
// 25 parks on its carrier in two places, and sleeps by one call of parkNanos.
void every_site_of_the_jdks_is_found() {
  CHECK_EQUAL(patch(read("17", "LockSupport"), kLockSupportSites).sites, 7U);
  CHECK_EQUAL(patch(read("25", "LockSupport"), kLockSupportSites).sites, 12U);
  CHECK_EQUAL(patch(read("25", "VirtualThread"), kPinnedSites).sites, 3U);
}

// Besides the constants that are added, only the three or five bytes of each site differ.
void nothing_else_of_the_class_file_changes() {
  for (const char* jdk : {"17", "25"}) {
    const Bytes before = read(jdk, "LockSupport");
    const Patch after = patch(before, kLockSupportSites);
    CHECK(after.outcome == PatchOutcome::kPatched);
    CHECK(constants(after.bytes) > constants(before));
    const auto first = std::mismatch(before.begin() + 10, before.end(), after.bytes.begin() + 10).first;
    const size_t added = after.bytes.size() - before.size();
    size_t changed = 0;
    // From the end backwards until the added constants are reached.
    for (size_t at = before.size(); at > static_cast<size_t>(first - before.begin()); --at) {
      changed += before[at - 1] != after.bytes[at - 1 + added] ? 1U : 0U;
    }
    CHECK(changed >= 2 * after.sites && changed <= 5 * after.sites);
  }
}

void a_patched_class_is_left_as_it_is() {
  const Patch once = patch(read("25", "LockSupport"), kLockSupportSites);
  const Patch twice = patch(once.bytes, kLockSupportSites);
  CHECK(twice.outcome == PatchOutcome::kAlreadyPatched);
  CHECK_EQUAL(twice.sites, 0U);
  CHECK(twice.bytes.empty());
}

void a_class_that_calls_somebody_elses_hook_says_that_there_is_no_site() {
  const Patch theirs = redirect_calls(read("17", "LockSupport"), kLockSupportSites, "other/agent/Hook");
  CHECK(theirs.outcome == PatchOutcome::kPatched);
  CHECK(patch(theirs.bytes, kLockSupportSites).outcome == PatchOutcome::kNoSite);
}

// Two agents may each redirect a part; what the first left is taken.
void what_another_agent_left_is_redirected() {
  const std::span<const CallSite> all(kLockSupportSites);
  const Patch unparks = redirect_calls(read("17", "LockSupport"), all.subspan(1, 1), "other/agent/Hook");
  CHECK_EQUAL(unparks.sites, 1U);
  const Patch rest = patch(unparks.bytes, kLockSupportSites);
  CHECK(rest.outcome == PatchOutcome::kPatched);
  CHECK_EQUAL(rest.sites, 6U);
  CHECK_EQUAL(count_of(rest.bytes, "other/agent/Hook"), 1U);
}

void a_class_without_such_calls_says_so() {
  for (const char* jdk : {"17", "25"}) {
    for (const char* name : {"Character", "Formatter"}) {
      CHECK(patch(read(jdk, name), kLockSupportSites).outcome == PatchOutcome::kNoSite);
    }
  }
  CHECK(patch(read("25", "AbstractOwnableSynchronizer"), kPinnedSites).outcome == PatchOutcome::kNoSite);
}

// Every prefix in memory of its own, so that AddressSanitizer sees a byte too far.
void a_cut_off_class_file_is_malformed_wherever_it_is_cut() {
  for (const char* name : {"LockSupport", "AbstractOwnableSynchronizer"}) {
    const Bytes whole = read("25", name);
    for (size_t length = 0; length < whole.size(); ++length) {
      const Bytes cut(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(length));
      CHECK(patch(cut, kLockSupportSites).outcome == PatchOutcome::kMalformed);
    }
  }
}

// A flipped bit may leave a class file that can still be read; then what is made of it can be read again.
void a_flipped_bit_never_leads_out_of_bounds() {
  const Bytes whole = read("25", "LockSupport");
  size_t readable = 0;
  for (size_t bit = 0; bit < whole.size() * 8; bit += 5) {  // each byte, not always the same bit of it
    Bytes damaged = whole;
    damaged[bit / 8] ^= static_cast<uint8_t>(1U << bit % 8);
    const Patch once = patch(damaged, kLockSupportSites);
    if (once.outcome != PatchOutcome::kPatched) continue;
    ++readable;
    CHECK(patch(once.bytes, kLockSupportSites).outcome == PatchOutcome::kAlreadyPatched);
  }
  CHECK(readable > 0);
}

void random_bytes_never_lead_out_of_bounds() {
  const Bytes whole = read("17", "LockSupport");
  uint64_t random = 1;
  const auto next = [&random] {
    return random = random * 6364136223846793005ULL + 1442695040888963407ULL, random >> 33;
  };
  for (int round = 0; round < 20000; ++round) {
    Bytes damaged = whole;
    for (uint64_t left = next() % 16 + 1; left > 0; --left)
      damaged[next() % damaged.size()] = static_cast<uint8_t>(next());
    patch(damaged, kLockSupportSites);
  }
}

// --- instructions ----------------------------------------------------------------------------------------------------

size_t length(const Bytes& code, size_t at = 0) { return instruction_length(code, at); }

void plain_instructions_have_the_lengths_of_the_specification() {
  CHECK_EQUAL(length({0x00}), 1U);                    // nop
  CHECK_EQUAL(length({0x10, 1}), 2U);                 // bipush
  CHECK_EQUAL(length({0x11, 0, 1}), 3U);              // sipush
  CHECK_EQUAL(length({0x12, 1}), 2U);                 // ldc
  CHECK_EQUAL(length({0x14, 0, 1}), 3U);              // ldc2_w
  CHECK_EQUAL(length({0x19, 4}), 2U);                 // aload
  CHECK_EQUAL(length({0x84, 1, 1}), 3U);              // iinc
  CHECK_EQUAL(length({0xA7, 0, 3}), 3U);              // goto
  CHECK_EQUAL(length({0xA9, 1}), 2U);                 // ret
  CHECK_EQUAL(length({0xB1}), 1U);                    // return
  CHECK_EQUAL(length({0xB5, 0, 1}), 3U);              // putfield
  CHECK_EQUAL(length({0xB9, 0, 1, 1, 0}), 5U);        // invokeinterface
  CHECK_EQUAL(length({0xBA, 0, 1, 0, 0}), 5U);        // invokedynamic
  CHECK_EQUAL(length({0xBC, 8}), 2U);                 // newarray
  CHECK_EQUAL(length({0xBF}), 1U);                    // athrow
  CHECK_EQUAL(length({0xC5, 0, 1, 2}), 4U);           // multianewarray
  CHECK_EQUAL(length({0xC8, 0, 0, 0, 5}), 5U);        // goto_w
  CHECK_EQUAL(length({0xC4, 0x15, 1, 0}), 4U);        // wide iload
  CHECK_EQUAL(length({0xC4, 0x84, 1, 0, 0, 1}), 6U);  // wide iinc
}

void switches_count_their_padding() {
  // tableswitch at 0: 3 bytes of padding, default, low 1, high 2, two offsets
  Bytes table{0xAA, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0, 8};
  CHECK_EQUAL(length(table), 24U);
  table.insert(table.begin(), 0x00);  // one byte later there is one byte less of padding
  table.erase(table.begin() + 2);
  CHECK_EQUAL(length(table, 1), 23U);
  const Bytes lookup{0xAB, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 7};
  CHECK_EQUAL(length(lookup), 20U);
}

void impossible_instructions_have_no_length() {
  CHECK_EQUAL(length({}), 0U);
  CHECK_EQUAL(length({0x00}, 1), 0U);
  CHECK_EQUAL(length({0xCA}), 0U);                                               // breakpoint: never in a class file
  CHECK_EQUAL(length({0xC4}), 0U);                                               // wide, and nothing behind it
  CHECK_EQUAL(length({0x11, 0}), 0U);                                            // sipush that is cut off
  CHECK_EQUAL(length({0xAA, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0, 1}), 0U);  // low above high
  CHECK_EQUAL(length({0xAA, 0, 0, 0, 0, 0, 0, 9, 0x80, 0, 0, 0, 0x7F, 0xFF, 0xFF, 0xFF}), 0U);
  CHECK_EQUAL(length({0xAB, 0, 0, 0, 0, 0, 0, 9, 0xFF, 0xFF, 0xFF, 0xFF}), 0U);  // minus one pairs
}

}  // namespace

int main(int count, char** arguments) {
  CHECK_EQUAL(count, 2);
  classes = arguments[1];
  every_site_of_the_jdks_is_found();
  nothing_else_of_the_class_file_changes();
  a_patched_class_is_left_as_it_is();
  a_class_that_calls_somebody_elses_hook_says_that_there_is_no_site();
  what_another_agent_left_is_redirected();
  a_class_without_such_calls_says_so();
  a_cut_off_class_file_is_malformed_wherever_it_is_cut();
  a_flipped_bit_never_leads_out_of_bounds();
  random_bytes_never_lead_out_of_bounds();
  plain_instructions_have_the_lengths_of_the_specification();
  switches_count_their_padding();
  impossible_instructions_have_no_length();
}
