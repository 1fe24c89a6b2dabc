#include "agent/hotspot/vm_tables.h"

#include <cstring>

#include "agent/hotspot/hotspot.h"

namespace headway::agent {
namespace {

constexpr int32_t kOriginMask = 15;  // JVMFlag::VALUE_ORIGIN_MASK; 0: by default

template <typename T>
T load_at(const char* address) noexcept {
  T value;
  std::memcpy(&value, address, sizeof(value));
  return value;
}

uint64_t exported_word(const char* symbol) {
  const void* at = libjvm_symbol(symbol);
  return at == nullptr ? 0 : load_at<uint64_t>(static_cast<const char*>(at));
}

std::string_view text_at(const char* place) {
  const char* text = load_at<const char*>(place);
  return text == nullptr ? std::string_view() : std::string_view(text);
}

}  // namespace

void for_each_vm_field(const std::function<void(std::string_view, std::string_view, int64_t, const char*)>& act) {
  auto* entry = reinterpret_cast<const char*>(exported_word("gHotSpotVMStructs"));
  const uint64_t stride = exported_word("gHotSpotVMStructEntryArrayStride");
  const uint64_t type_name = exported_word("gHotSpotVMStructEntryTypeNameOffset");
  const uint64_t field_name = exported_word("gHotSpotVMStructEntryFieldNameOffset");
  const uint64_t offset = exported_word("gHotSpotVMStructEntryOffsetOffset");
  const uint64_t address = exported_word("gHotSpotVMStructEntryAddressOffset");
  for (; entry != nullptr && stride != 0; entry += stride) {
    const std::string_view type = text_at(entry + type_name);
    const std::string_view field = text_at(entry + field_name);
    if (type.data() == nullptr || field.data() == nullptr) break;
    act(type, field, load_at<int64_t>(entry + offset), load_at<const char*>(entry + address));
  }
}

int64_t vm_field_offset(std::string_view type, std::string_view field) {
  int64_t found = kNoOffset;
  for_each_vm_field([&](std::string_view t, std::string_view f, int64_t offset, const char*) {
    if (t == type && f == field) found = offset;
  });
  return found;
}

int64_t vm_type_size(std::string_view type) {
  auto* entry = reinterpret_cast<const char*>(exported_word("gHotSpotVMTypes"));
  const uint64_t stride = exported_word("gHotSpotVMTypeEntryArrayStride");
  const uint64_t type_name = exported_word("gHotSpotVMTypeEntryTypeNameOffset");
  const uint64_t size = exported_word("gHotSpotVMTypeEntrySizeOffset");
  for (; entry != nullptr && stride != 0; entry += stride) {
    const std::string_view name = text_at(entry + type_name);
    if (name.data() == nullptr) break;
    if (name == type) return load_at<int64_t>(entry + size);
  }
  return kNoOffset;
}

bool* default_flag(std::string_view name) {
  const char* flags = nullptr;
  size_t count = 0;
  int64_t at_name = kNoOffset, at_value = kNoOffset, at_origin = kNoOffset;
  for_each_vm_field([&](std::string_view type, std::string_view field, int64_t offset, const char* address) {
    if (type != "JVMFlag") return;
    if (field == "_name") at_name = offset;
    if (field == "_addr") at_value = offset;
    if (field == "_flags") at_origin = offset;
    if (field == "flags" && address != nullptr) flags = load_at<const char*>(address);
    if (field == "numFlags" && address != nullptr) count = load_at<size_t>(address);
  });
  const int64_t bytes = vm_type_size("JVMFlag");
  if (flags == nullptr || bytes <= 0 || at_name < 0 || at_value < 0 || at_origin < 0) return nullptr;
  for (size_t i = 0; i < count; ++i, flags += bytes) {
    if (text_at(flags + at_name) != name) continue;
    return (load_at<int32_t>(flags + at_origin) & kOriginMask) == 0 ? load_at<bool*>(flags + at_value) : nullptr;
  }
  return nullptr;
}

}  // namespace headway::agent
