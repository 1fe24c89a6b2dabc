// Changes of threads' states on their way to the integrator. A change whose meaning only a later record tells (an open
// question) holds up those after it, so that the integrator sees everything in order of time and exactly once. The wait
// is bounded: when too many changes have piled up, the oldest question is answered by a guess, and the answer stands.
#pragma once

#include <cstdint>
#include <deque>

#include "decode/parallelism/parallelism_integrator.h"

namespace headway {

using TransitionId = uint64_t;
constexpr TransitionId kNoTransition = UINT64_MAX;

// A queue of changes of state, passed on in order once nothing before them is open.
class DeferredTransitions {
 public:
  explicit DeferredTransitions(ParallelismIntegrator* sweep, size_t limit = 1 << 16) : sweep_(sweep), limit_(limit) {}

  void add(int64_t ts_ns, uint32_t thread, Level to, int64_t stolen_ns = 0) {
    if (waiting_.empty()) {
      sweep_->change(ts_ns, thread, to, stolen_ns);
    } else {
      waiting_.push_back({ts_ns, stolen_ns, thread, to, false});
      if (waiting_.size() > limit_) guess();
    }
  }
  // Adds a change that is `to` unless answer() says otherwise.
  TransitionId ask(int64_t ts_ns, uint32_t thread, Level to, int64_t stolen_ns) {
    waiting_.push_back({ts_ns, stolen_ns, thread, to, true});
    const TransitionId id = first_ + waiting_.size() - 1;
    if (waiting_.size() > limit_) guess();
    return id;
  }
  // Answers a question. Returns false when it came too late: then the guess that ask() was given stays.
  bool answer(TransitionId id, Level level) {
    if (id < first_ || !waiting_[id - first_].is_open) return false;
    waiting_[id - first_].to = level;
    waiting_[id - first_].is_open = false;
    pass_on();
    return true;
  }
  // Answers every question that is left by the guess that ask() was given, and passes everything on.
  void flush() {
    for (Waiting& waiting : waiting_) waiting.is_open = false;
    pass_on();
  }
  uint64_t guesses() const { return guesses_; }

 private:
  struct Waiting {
    int64_t ts_ns;
    int64_t stolen_ns;
    uint32_t thread;
    Level to;
    bool is_open;
  };
  void guess() {
    waiting_.front().is_open = false;
    ++guesses_;
    pass_on();
  }
  void pass_on() {
    while (!waiting_.empty() && !waiting_.front().is_open) {
      const Waiting& w = waiting_.front();
      sweep_->change(w.ts_ns, w.thread, w.to, w.stolen_ns);
      waiting_.pop_front();
      ++first_;
    }
  }

  ParallelismIntegrator* sweep_;
  size_t limit_;
  std::deque<Waiting> waiting_;
  TransitionId first_ = 0;
  uint64_t guesses_ = 0;
};

}  // namespace headway
