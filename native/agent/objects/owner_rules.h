// By which rules objects have owners (docs/decisions/0017-owners.md, 0018-last-writer.md).
#pragma once

#include <cstddef>

namespace headway::agent {

struct OwnerRules {
  bool allocator = false;    // the thread that allocated the object
  bool last_writer = false;  // the one that wrote to it last; before the first write the one that allocated it

  bool any() const noexcept { return allocator || last_writer; }
  bool has(size_t rule) const noexcept { return rule == 0 ? allocator : last_writer; }
};
constexpr size_t kOwnerRules = 2;

}  // namespace headway::agent
