#include "agent/hotspot/hotspot.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "agent/core/old_glibc.h"

namespace headway::agent {
namespace {

constexpr int32_t kOriginMask = 15;             // JVMFlag::VALUE_ORIGIN_MASK
constexpr int32_t kSetOnCommandLine = 1 << 17;  // JVMFlag::ORIG_COMMAND_LINE

int find_libjvm(dl_phdr_info* info, size_t, void* result) {
  const std::string_view name = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  if (!name.ends_with("/libjvm.so")) return 0;
  *static_cast<std::string*>(result) = name;
  return 1;
}

// A handle of the libjvm that is loaded, which a program that embeds the JVM may have loaded with local visibility.
void* libjvm() {
  std::string path;
  dl_iterate_phdr(find_libjvm, &path);
  return path.empty() ? RTLD_DEFAULT : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
}

uint64_t word(void* library, const char* symbol) {
  const void* at = dlsym(library, symbol);
  return at == nullptr ? 0 : *static_cast<const uint64_t*>(at);
}

template <typename T>
T load_at(const char* address) {
  T value;
  std::memcpy(&value, address, sizeof(value));
  return value;
}

std::string_view text_at(const char* entry, uint64_t offset) {
  const char* text = load_at<const char*>(entry + offset);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

// One entry of the JVM's performance data (jdk.internal.perf, perfMemory.hpp): header, name, value.
struct PerfEntry {
  int32_t entry_length;
  int32_t name_offset;
  int32_t vector_length;
  int8_t data_type;
  int8_t flags;
  int8_t data_units;
  int8_t data_variability;
  int32_t data_offset;
};
struct PerfPrologue {
  uint32_t magic;  // 0xcafec0c0 in big-endian order
  uint8_t byte_order;
  uint8_t major;
  uint8_t minor;
  uint8_t accessible;
  int32_t used;
  int32_t overflow;
  int64_t mod_time_stamp;
  int32_t entry_offset;
  int32_t num_entries;
};
constexpr uint32_t kPerfMagic = 0xc0c0feca;
constexpr std::string_view kG1ConcurrentPauses = "G1 concurrent cycle pauses";

}  // namespace

void* libjvm_symbol(const char* name) noexcept {
  void* library = libjvm();
  return library == nullptr ? nullptr : dlsym(library, name);
}

bool safe_read(const void* from, void* to, size_t bytes) noexcept {
  const iovec local{to, bytes};
  const iovec remote{const_cast<void*>(from), bytes};
  if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == static_cast<ssize_t>(bytes)) return true;
  // Some container sandboxes forbid that call altogether.
  const int mem = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  if (mem < 0) return false;
  const ssize_t got = pread(mem, to, bytes, static_cast<off_t>(reinterpret_cast<uintptr_t>(from)));
  close(mem);
  return got == static_cast<ssize_t>(bytes);
}

void HotSpot::note_field(std::string_view type, std::string_view field, uint64_t offset, char* address) noexcept {
  const auto at = static_cast<int64_t>(offset);
  // JDK 25 moved _osthread from JavaThread to Thread; JavaThread begins with Thread, so either offset fits.
  if ((type == "JavaThread" || type == "Thread") && field == "_osthread") osthread_ = at;
  if (type == "JavaThread" && field == "_thread_state") thread_state_ = at;
  if (type == "CodeCache" && field == "_low_bound") code_low_ = reinterpret_cast<char**>(address);
  if (type == "CodeCache" && field == "_high_bound") code_high_ = reinterpret_cast<char**>(address);
  if (type == "OSThread" && field == "_thread_id") thread_id_ = at;
  if (type == "Universe" && field == "_collectedHeap") heap_ = reinterpret_cast<char**>(address);
  if (type == "PerfMemory" && field == "_start") perf_start_ = reinterpret_cast<char**>(address);
  if (type != "JVMFlag") return;
  if (field == "_name") flag_name_ = at;
  if (field == "_addr") flag_addr_ = at;
  if (field == "_flags") flag_origin_ = at;
  if (field == "flags" && address != nullptr) flags_ = load_at<char*>(address);
  if (field == "numFlags" && address != nullptr) flag_count_ = load_at<size_t>(address);
}

void HotSpot::load() noexcept {
  void* library = libjvm();
  if (library == nullptr) return;
  auto* entry = reinterpret_cast<char*>(word(library, "gHotSpotVMStructs"));
  uint64_t stride = word(library, "gHotSpotVMStructEntryArrayStride");
  uint64_t type_name = word(library, "gHotSpotVMStructEntryTypeNameOffset");
  const uint64_t field_name = word(library, "gHotSpotVMStructEntryFieldNameOffset");
  const uint64_t offset = word(library, "gHotSpotVMStructEntryOffsetOffset");
  const uint64_t address = word(library, "gHotSpotVMStructEntryAddressOffset");
  for (; entry != nullptr && stride != 0; entry += stride) {
    const std::string_view type = text_at(entry, type_name);
    const std::string_view field = text_at(entry, field_name);
    if (type.data() == nullptr || field.data() == nullptr) break;
    note_field(type, field, load_at<uint64_t>(entry + offset), load_at<char*>(entry + address));
  }
  entry = reinterpret_cast<char*>(word(library, "gHotSpotVMTypes"));
  stride = word(library, "gHotSpotVMTypeEntryArrayStride");
  type_name = word(library, "gHotSpotVMTypeEntryTypeNameOffset");
  const uint64_t size = word(library, "gHotSpotVMTypeEntrySizeOffset");
  for (; entry != nullptr && stride != 0; entry += stride) {
    const std::string_view type = text_at(entry, type_name);
    if (type.data() == nullptr) break;
    if (type == "JVMFlag") flag_size_ = load_at<uint64_t>(entry + size);
  }
}

bool HotSpot::heap_exists() const noexcept { return heap_ != nullptr && *heap_ != nullptr; }

pid_t HotSpot::os_thread_id(int64_t eetop) const noexcept {
  if (eetop == 0 || osthread_ < 0 || thread_id_ < 0) return 0;
  const char* os_thread = nullptr;
  pid_t tid = 0;
  if (!safe_read(reinterpret_cast<const char*>(eetop) + osthread_, &os_thread, sizeof(os_thread))) return 0;
  if (os_thread == nullptr || !safe_read(os_thread + thread_id_, &tid, sizeof(tid))) return 0;
  return tid;
}

int HotSpot::thread_state(const void* java_thread) const noexcept {
  if (java_thread == nullptr || thread_state_ < 0) return -1;
  return load_at<int>(static_cast<const char*>(java_thread) + thread_state_);
}

bool HotSpot::is_in_code_cache(uintptr_t pc) const noexcept {
  return code_low_ != nullptr && code_high_ != nullptr && pc >= reinterpret_cast<uintptr_t>(*code_low_) &&
         pc < reinterpret_cast<uintptr_t>(*code_high_);
}

char* HotSpot::flag(std::string_view name) const noexcept {
  if (flags_ == nullptr || flag_size_ == 0 || flag_name_ < 0) return nullptr;
  for (size_t i = 0; i < flag_count_; ++i) {
    char* at = flags_ + i * flag_size_;
    if (text_at(at, static_cast<uint64_t>(flag_name_)) == name) return at;
  }
  return nullptr;
}

std::optional<bool> HotSpot::bool_flag(std::string_view name) const noexcept {
  const char* at = flag(name);
  if (at == nullptr || flag_addr_ < 0) return std::nullopt;
  const char* value = load_at<const char*>(at + flag_addr_);
  return value == nullptr ? std::nullopt : std::optional<bool>(*value != 0);
}

std::optional<int64_t> HotSpot::int_flag(std::string_view name) const noexcept {
  const char* at = flag(name);
  if (at == nullptr || flag_addr_ < 0) return std::nullopt;
  const char* value = load_at<const char*>(at + flag_addr_);
  return value == nullptr ? std::nullopt : std::optional<int64_t>(load_at<int64_t>(value));
}

std::optional<HotSpot::FlagOrigin> HotSpot::pretend_on_command_line(std::string_view name) noexcept {
  char* at = flag(name);
  if (at == nullptr || flag_origin_ < 0) return std::nullopt;
  auto* origin = reinterpret_cast<int32_t*>(at + flag_origin_);
  if ((*origin & kOriginMask) != 0 || (*origin & kSetOnCommandLine) != 0) return std::nullopt;
  const FlagOrigin before{origin, *origin};
  *origin |= kSetOnCommandLine;
  return before;
}

void HotSpot::find_counters() noexcept {
  if (perf_start_ == nullptr || *perf_start_ == nullptr) return;  // -XX:-UsePerfData
  const char* start = *perf_start_;
  PerfPrologue prologue{};
  if (!safe_read(start, &prologue, sizeof(prologue)) || prologue.magic != kPerfMagic) return;
  const char* at = start + prologue.entry_offset;
  bool is_g1 = false;
  for (int i = 0; i < prologue.num_entries; ++i) {
    PerfEntry entry{};
    if (!safe_read(at, &entry, sizeof(entry)) || entry.entry_length < static_cast<int32_t>(sizeof(entry))) return;
    const std::string_view name = at + entry.name_offset;
    const char* value = at + entry.data_offset;
    const Counter counter{value, static_cast<uint32_t>(std::max(entry.vector_length, 0))};
    if (name == "sun.gc.cause") cause_ = counter;
    if (name == "sun.gc.lastCause") last_cause_ = counter;
    if (name == "sun.gc.collector.2.name") is_g1 = std::string_view(value) == kG1ConcurrentPauses;
    if (name == "sun.gc.collector.2.invocations") concurrent_pauses_ = reinterpret_cast<const int64_t*>(value);
    at += entry.entry_length;
  }
  if (!is_g1) concurrent_pauses_ = nullptr;
  if (concurrent_pauses_ != nullptr) concurrent_pauses_seen_ = *concurrent_pauses_;
}

size_t HotSpot::gc_cause(char* out, size_t capacity) noexcept {
  // During a stop-the-world collection the cause is set after JVMTI's start event and reset to "No GC" before its
  // finish event, when it has become the last cause; a concurrent collector's driver keeps it set for the whole cycle.
  constexpr std::string_view kNone = "No GC";
  const auto copy = [&](std::string_view text) {
    const size_t length = std::min(text.size(), capacity);
    std::memcpy(out, text.data(), length);
    return text == kNone ? 0 : length;
  };
  const auto text_of = [](const Counter& counter) {
    return counter.text == nullptr ? std::string_view()
                                   : std::string_view(counter.text, strnlen(counter.text, counter.capacity));
  };
  if (const size_t length = copy(text_of(cause_))) return length;
  if (concurrent_pauses_ != nullptr && *concurrent_pauses_ != concurrent_pauses_seen_) {
    concurrent_pauses_seen_ = *concurrent_pauses_;
    return copy(kG1ConcurrentPauses);
  }
  return copy(text_of(last_cause_));
}

}  // namespace headway::agent
