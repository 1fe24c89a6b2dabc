// The account of lost cores, where cores x time went: at each instant, the cores that nothing ran on are given to
// causes.
//
// Goes backwards in time, as the critical path does: slices are stored in order of their ends, so each arrives when it
// begins to count, and only one slice of each thread has to be held. What is given away at an instant depends on that
// instant alone (docs/decisions/0007-lost-cores.md has the order), so the direction makes no difference. Each change
// costs O(log threads), however many wait.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "lost_cores/changes.h"
#include "lost_cores/ledger.h"
#include "lost_cores/loss_rows.h"
#include "lost_cores/tournament_tree.h"
#include "lost_cores/wait_pieces.h"
#include "wire/stored_slices.h"
#include "wire/thread_kinds.h"

namespace headway {

constexpr int32_t kExit = -3;  // as a waker: the thread was woken to die with its process

struct AccountOptions {
  int64_t from_ns = 0;
  int64_t to_ns = 0;
  double cores = 1;
  int64_t bin_ns = 1;
  std::vector<int64_t> cuts;  // where segments meet, in any order
  // All threads that are ready run, and share the cores evenly where they are more than those: as in a replay.
  bool shares_cores = false;
  // So many idle cores count at an instant; with one, causes have the wall time for which they keep a core idle.
  double most_idle = std::numeric_limits<double>::infinity();
};

// What a thread is to the program's work: a worker, which runs (kWorker); a thread that hardly runs and that no worker
// waits for (kBackground); one of these that joins the thread which started it (kWatcher); or one that hardly runs and
// that a worker waits for (kNeeded). The latter is no stage of a pipeline: a queue that it serves is empty for most of
// the time, however fast it is filled.
enum class WorkRole : uint8_t { kWorker, kBackground, kWatcher, kNeeded };

struct AccountThreads {
  std::vector<uint8_t> kind;
  std::vector<uint8_t> background;    // WorkRole, of virtual threads as well; kWorker for those beyond its end
  std::vector<int64_t> exit_ns = {};  // who is woken from then on is woken to die; no value: that is not known
};

// Slices of one row group.
struct SliceColumns : StoredSlices {
  int64_t tick_ns = 1;
};

// A thread at an instant; rows must be in order of time.
struct ProbeColumns {
  size_t rows = 0;
  const int64_t* ns = nullptr;
  const int32_t* thread = nullptr;
};

// Cores that a thread keeps idle at the instant: because others wait for it, and because it alone (or too few) had
// work.
struct ProbeResult {
  double directed = 0;
  double undirected = 0;
};

// One pass over a window: fed with slices from the last to the first, it sums up what each cause cost.
class LossAccount {
 public:
  LossAccount(AccountOptions options, AccountThreads threads, const WaitColumns& waits, const SpanColumns& spans,
              const OtherColumns& others, const ProbeColumns& probes);

  // Batches come from the end of the table to its begin, the rows of each in the table's order. Returns false when the
  // rest of the table is of no interest. A slice that is out of order ends where the sweep is.
  bool batch(const SliceColumns& slices);
  void finish();

  const LossRows& rows() const { return rows_; }
  const std::vector<Segment>& segments() const { return ledger_.segments(); }  // the last one first
  const std::vector<LossSums>& bins() const { return ledger_.bins(); }
  const std::vector<ProbeResult>& probes() const { return probe_results_; }
  uint64_t out_of_order() const { return out_of_order_; }

 private:
  enum class Level : uint8_t { kNone, kBlocked, kRunnable, kRunning };
  enum class Role : uint8_t { kNone, kJoins, kStarves };
  using Joiner = std::tuple<bool, int64_t, uint32_t>;       // is a watcher, since when, thread
  using Starved = std::tuple<uint32_t, int64_t, uint32_t>;  // producer, since when, consumer
  struct Thread {
    int64_t start_ns = INT64_MIN;  // of its slice: running from here on,
    int64_t woken_ns = INT64_MIN;  // runnable from here on,
    int64_t begin_ns = INT64_MIN;  // and blocked from here on
    double owed_before = 0;        // while it waits: what its class was owed then
    int64_t stolen = 0;            // part of a core
    uint32_t piece = 0;            // the pieces up to here are still to come
    uint32_t row = 0;              // while it waits
    int64_t next_begin_ns =
        INT64_MAX;            // of the slice that came before this one, which is the next one in time: its block,
    int32_t next_waker = -1;  // and who ended that
    int32_t waker = -1;
    uint32_t known_row = UINT32_MAX;  // the last row for a wait without a piece
    uint8_t blocked_in = 0;
    uint8_t kind = kAppKind;
    bool is_background = false;
    bool is_watcher = false;
    bool hardly_runs = false;
    bool is_virtual = false;
    int64_t exit_ns = INT64_MAX;
    bool is_waiting = false;
    Waits waits = Waits::kDirected;
    Role role = Role::kNone;
    Level level = Level::kNone;
  };
  // How the idle cores of this moment are given away.
  struct Split {
    double ready = 0;
    double rest = 0;
    uint32_t rest_row = 0;
    Cause rest_cause = Cause::kUnknown;
    bool is_in_spans = false;  // else there is none of the following
    double unknown = 0;
    double pause = 0, safepoint = 0, startup = 0, shutdown = 0;
  };

  // loss_account.cpp: time and states
  void step_to(int64_t ns);
  void advance(int64_t ns);
  int32_t ended_by(uint32_t thread, int32_t waker, int64_t ran_from_ns, int64_t end_ns) const;
  void settle(uint32_t thread);
  int64_t enter_block(uint32_t thread);
  void cut();
  // waiting.cpp: who waits for what
  void set_level(uint32_t thread, Level level);
  void set_active(uint32_t thread, bool is_active);
  void wait_in_piece(uint32_t thread, const WaitPiece& piece);
  void wait_in_kernel(uint32_t thread);
  void begin_wait(uint32_t thread, uint32_t row, Waits waits, Role role);
  void end_wait(uint32_t thread);
  void begin_role(uint32_t thread, Role role);
  void end_role(uint32_t thread);
  Joiner joiner(uint32_t thread) const;
  Starved first_starved(uint32_t target) const;
  void list_starved(uint32_t target, bool is_listed);
  LossRow kernel_row(uint32_t thread) const;
  // division.cpp: who gets the idle cores
  void count_running(const Thread& t, int change);
  void count_used();
  void divide();
  bool is_outside();
  double take_phases(double idle);
  void pay_spans(double dur);
  void give_to_waiters(double idle);
  uint32_t rest_row();
  bool find_joined(bool includes_background, uint32_t* row);
  bool follow(uint32_t thread, bool includes_background, uint32_t* row);
  bool joins(const Thread& t) const;
  void pay(double dur);
  void probe(size_t at);

  AccountOptions options_;
  LossRows rows_;
  WaitPieces pieces_;
  Changes changes_;
  ProbeColumns probes_;
  std::vector<ProbeResult> probe_results_;
  size_t next_probe_;  // those before it are still to come
  std::vector<Thread> threads_;
  LossLedger ledger_;
  size_t platform_;  // threads that slices tell of; those from here on are virtual
  TournamentTree next_;
  int64_t now_ns_;
  int64_t before_ns_ = INT64_MAX;  // the slices to come end here or earlier
  uint64_t out_of_order_ = 0;

  int64_t running_[kUsedKinds] = {};
  int64_t stolen_[kUsedKinds] = {};
  int64_t running_all_ = 0, stolen_all_ = 0;
  double used_[kUsedKinds] = {};  // without the recorder beside the program
  int64_t strangers_ = 0;
  int64_t runnable_ = 0;  // of the application
  int64_t waiting_[kWaits] = {};
  int64_t active_ = 0;                // application threads that run or are ready to
  uint32_t active_xor_ = 0;           // their numbers: of a single one, its own
  std::vector<int64_t> directed_on_;  // threads that wait for this one
  std::vector<uint32_t> starved_on_;  // consumers that wait for work of this one
  std::set<Starved> starved_;         // all consumers that wait for a known producer
  // Of each active producer the consumer that has waited longest, by since when.
  std::set<std::pair<int64_t, uint32_t>> longest_starved_;
  std::set<Joiner> joiners_;
  std::vector<uint32_t> serial_rows_;
  uint32_t unknown_row_, ready_row_, quota_row_, pause_row_, safepoint_row_, startup_row_, shutdown_row_, few_row_;
  bool is_dirty_ = true;       // the division of the idle cores is not that of the present states
  bool is_used_dirty_ = true;  // nor are the cores in use
  double idle_ = 0;
  Rates rates_;
  Split split_;
};

}  // namespace headway
