#include "decode/parallelism/reverse_parallelism.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <stdexcept>

namespace headway {
namespace {

struct Change {
  int64_t mirrored_ns;
  uint32_t thread;
  Level to;
  int64_t stolen_ns;
  // Equal times need no order: the older slice of a thread is only begun after what ends at that time was passed on.
  bool operator>(const Change& other) const { return mirrored_ns > other.mirrored_ns; }
};

}  // namespace

ParallelismIntegrator integrate_slices(const SliceView& slices, const std::vector<uint8_t>& kinds, int64_t start_ns,
                                       int64_t end_ns, int64_t bin_ns, std::vector<ActivityRow>* activity,
                                       std::vector<KindSpan> spans) {
  bin_ns = std::max<int64_t>(bin_ns, 1);
  end_ns = std::max(start_ns, end_ns);
  // Mirrored time runs from 0 (end_ns) to end_ns - start_ns. Its bins are laid so that mirrored back they begin at
  // start_ns.
  const int64_t length = end_ns - start_ns;
  const int64_t overhang = (bin_ns - length % bin_ns) % bin_ns;
  for (KindSpan& span : spans) {
    const int64_t begins = end_ns - span.end_ns;
    span.end_ns = end_ns - span.start_ns;
    span.start_ns = begins;
  }
  ParallelismIntegrator sweep({0, length, bin_ns, -overhang, SIZE_MAX}, kinds, spans);
  std::priority_queue<Change, std::vector<Change>, std::greater<>> waiting;
  const auto pass_on = [&](int64_t until) {
    while (!waiting.empty() && waiting.top().mirrored_ns <= until) {
      const Change change = waiting.top();
      waiting.pop();
      sweep.change(change.mirrored_ns, change.thread, change.to, change.stolen_ns);
    }
  };
  int64_t last_end = INT64_MAX;
  for (size_t i = slices.rows; i-- > 0;) {
    const int64_t running_end = slices.start_ns[i] + slices.running_ns[i];
    if (running_end > last_end) throw std::invalid_argument("slices are not in order of their end");
    last_end = running_end;
    const int64_t runnable_begin = slices.start_ns[i] - slices.runnable_ns[i];
    if (running_end <= start_ns || runnable_begin >= end_ns || runnable_begin == running_end) continue;
    const auto thread = static_cast<uint32_t>(slices.thread_id[i]);
    const int64_t to = end_ns - std::min(running_end, end_ns);
    const int64_t mid = end_ns - std::clamp(slices.start_ns[i], start_ns, end_ns);
    const int64_t from = end_ns - std::max(runnable_begin, start_ns);
    pass_on(to);
    int64_t stolen = 0;
    if (mid > to && slices.running_ns[i] > 0) {
      stolen = static_cast<int64_t>(static_cast<__int128>(slices.stolen_ns[i]) * (mid - to) / slices.running_ns[i]);
      sweep.change(to, thread, Level::kRunning);
    }
    if (from > mid) {
      waiting.push({mid, thread, Level::kRunnable, stolen});
      waiting.push({from, thread, Level::kIdle, 0});
    } else {
      waiting.push({mid, thread, Level::kIdle, stolen});
    }
  }
  pass_on(INT64_MAX);
  sweep.finish();
  activity->assign(sweep.rows().rbegin(), sweep.rows().rend());
  for (ActivityRow& row : *activity) {
    // A row knows where its mirrored bin begins; the bin's other end is where it begins in true time.
    const int64_t bin = (row.bin_start_ns + overhang) / bin_ns;
    row.bin_start_ns = std::max(start_ns, end_ns - ((bin + 1) * bin_ns - overhang));
  }
  return sweep;
}

}  // namespace headway
