// The reading of all progress points at either end of an experiment.
#pragma once

#include "agent/causal/points/visits.h"

namespace headway::agent::causal {

// As nearly at one moment as can be.
Reading read_points();

}  // namespace headway::agent::causal
