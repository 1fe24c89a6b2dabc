// What steps of a run are after a change of single ones: other lengths of waits for a time, or other amounts of work.
#pragma once

#include <vector>

namespace headway {

// Each by step, or empty: none is changed.
struct StepChanges {
  std::vector<double> wait_ns;      // how long a wait lasts, whoever ended it; negative: as before
  std::vector<double> work_factor;  // of what is computed
};

}  // namespace headway
