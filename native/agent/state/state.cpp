#include "agent/state/state.h"

namespace headway::agent {

Agent& agent() {
  static Agent* const instance = new Agent;
  return *instance;
}

}  // namespace headway::agent
