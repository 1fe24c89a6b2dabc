#include "agent/hooks/listeners.h"

#include <algorithm>

namespace headway::agent {
namespace {

constinit Listeners registered;

}  // namespace

void set_listeners(const Listeners& all) noexcept { registered = all; }
bool wants_class_files() noexcept {
  return std::ranges::any_of(registered.class_files, [](const ClassFileListener* each) { return each->wants(); });
}
const Listeners& listeners() noexcept { return registered; }

}  // namespace headway::agent
