// gHotSpotVMStructs and gHotSpotVMTypes: offsets within HotSpot's structures, and flags. For what causal profiling
// reads beyond hotspot.h. Not in signal handlers.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace headway::agent {

constexpr int64_t kNoOffset = -1;

// Of each field: its offset, or for a static one its address.
void for_each_vm_field(
    const std::function<void(std::string_view type, std::string_view field, int64_t offset, const char* address)>& act);
int64_t vm_field_offset(std::string_view type, std::string_view field);  // kNoOffset: this JVM does not tell
int64_t vm_type_size(std::string_view type);                             // likewise

// A boolean -XX flag that nobody has set, which may be changed; null: somebody has, or there is none such.
bool* default_flag(std::string_view name);

}  // namespace headway::agent
