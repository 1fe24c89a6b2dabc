// The notes that tell how a causal recording gets on: visits of progress points, the health of its samples and
// payments.
#pragma once

namespace headway::agent::causal {

// On the experiments' thread only.
void note_hits();
void note_health();

}  // namespace headway::agent::causal
