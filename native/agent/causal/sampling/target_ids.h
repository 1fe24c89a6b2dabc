// What is being made faster, by the ids that frames have: a method with all that it calls, and whatever else goes by
// the same name.
#pragma once

#include <cstdint>
#include <vector>

namespace headway::agent::causal {

// [signal] The method that is being made faster with all that it calls; kSectionsTarget (lock_target.h): the critical
// sections; 0: none of both.
uint32_t target_method() noexcept;
bool is_target_method(uint32_t method) noexcept;  // [signal] that one, or another one that was meant as well
bool is_other_target(uint32_t id) noexcept;       // [signal] a line or method by the same name as the first one

void set_target_method(uint32_t method) noexcept;
// Takes the first for what is meant, the others for those by the same name (of nested classes, of companions). Returns
// the first, 0 where there is none.
uint32_t set_target_ids(const std::vector<uint32_t>& ids);

}  // namespace headway::agent::causal
