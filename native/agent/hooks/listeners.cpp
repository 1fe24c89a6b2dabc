#include "agent/hooks/listeners.h"

namespace headway::agent {
namespace {

constinit Listeners registered;

}  // namespace

void set_listeners(const Listeners& all) noexcept { registered = all; }
const Listeners& listeners() noexcept { return registered; }

}  // namespace headway::agent
