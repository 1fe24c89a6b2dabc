// The module `_native_for_tests`, which no wheel has: the ledger of the causal profiler, which tests drive by schedules of
// their own, and where the code of a class file holds locks.
#include <nanobind/nanobind.h>

#include "agent/causal/ledger/ledger.h"
#include "agent/causal/sections/lock_sections.h"

namespace nb = nanobind;

namespace headway {
namespace {

using agent::causal::Clocks;
using agent::causal::DelayAccount;
using agent::causal::Ledger;
using agent::causal::WaitEnding;

// Names accounts by the numbers of their threads.
class CausalLedger {
 public:
  explicit CausalLedger(int cores) {
    if (!ledger_.reserve()) throw std::bad_alloc();
    ledger_.set_cores(cores);
    ledger_.begin_experiment();
  }
  ~CausalLedger() { ledger_.release(); }
  CausalLedger(const CausalLedger&) = delete;
  CausalLedger& operator=(const CausalLedger&) = delete;

  bool open(uint32_t thread) { return ledger_.open(thread, thread) != nullptr; }
  void close(uint32_t thread) { ledger_.close(account(thread)); }
  uint32_t begin_experiment() { return ledger_.begin_experiment(); }
  uint32_t experiment() const { return ledger_.experiment(); }
  int64_t delay_ns() const { return ledger_.delay_ns(); }
  int64_t owed_ns(uint32_t thread) const { return ledger_.owed_ns(account(thread)); }
  bool hit(uint32_t thread, int64_t delay_ns, uint32_t experiment) {
    return ledger_.hit(account(thread), delay_ns, experiment);
  }
  bool hit_asleep(uint32_t thread, int64_t delay_ns, uint32_t experiment) {
    return ledger_.hit_asleep(account(thread), delay_ns, experiment);
  }
  void excuse_hit(uint32_t thread, int64_t ns, uint32_t experiment) {
    ledger_.excuse_hit(account(thread), ns, experiment);
  }
  void excuse_all(int64_t delay_ns) { ledger_.excuse_all(delay_ns); }
  void pay(uint32_t thread, int64_t ns, uint32_t experiment) { ledger_.pay(account(thread), ns, experiment); }
  void excuse(uint32_t thread, int64_t wall_ns, int64_t cpu_ns, int64_t run_delay_ns, bool burns) {
    ledger_.excuse(account(thread), Clocks{wall_ns, cpu_ns, run_delay_ns}, burns);
  }
  void look(uint32_t thread, int64_t wall_ns, int64_t cpu_ns, int64_t run_delay_ns) {
    ledger_.look(account(thread), Clocks{wall_ns, cpu_ns, run_delay_ns});
  }
  void wait_begins(uint32_t thread, int64_t now_ns) { ledger_.wait_begins(account(thread), now_ns); }
  void woken(uint32_t thread, uint32_t waker, int64_t now_ns) {
    ledger_.woken(account(thread), account(waker), now_ns);
  }
  bool wait_ends(uint32_t thread, WaitEnding ending, int64_t now_ns) {
    return ledger_.wait_ends(account(thread), ending, now_ns);
  }
  // What inserted bytecode compares.
  bool owes_nothing_by_words(uint32_t thread) const {
    return account(thread).paid.load() >= ledger_.delay_address()->load();
  }
  bool is_in_debt(uint32_t thread) { return ledger_.is_in_debt(account(thread)); }
  void reads_own(uint32_t thread, bool is_so) { account(thread).reads_own.store(is_so); }
  uint32_t open_accounts() const { return ledger_.open_accounts(); }
  uint32_t unprofiled_threads() const { return ledger_.unprofiled_threads(); }

 private:
  DelayAccount& account(uint32_t thread) const {
    DelayAccount* const found = ledger_.find(thread);
    if (found == nullptr) throw nb::key_error("no account of this thread");
    return *found;
  }
  Ledger ledger_;
};

// (method, descriptor, class of the lock, line, [(from, to)...]) for each section of a class file.
nb::list causal_lock_sections(const nb::bytes& class_file) {
  const auto text = [](const std::string& name) {
    return nb::bytes(name.data(), name.size());
  };  // a damaged one is none
  nb::list found;
  const auto* const bytes = reinterpret_cast<const uint8_t*>(class_file.c_str());
  for (const agent::causal::LockingMethod& method : agent::causal::lock_sections({bytes, class_file.size()})) {
    for (const agent::causal::LockSection& section : method.sections) {
      nb::list held;
      for (const agent::causal::HeldStretch& stretch : section.held) {
        held.append(nb::make_tuple(stretch.from, stretch.to));
      }
      found.append(nb::make_tuple(text(method.name), text(method.descriptor), text(section.type), section.line, held));
    }
  }
  return found;
}

}  // namespace
}  // namespace headway

NB_MODULE(_native_for_tests, m) {
  using namespace headway;
  m.doc() = "Native parts that only tests of headway call.";
  m.def("causal_lock_sections", &causal_lock_sections, nb::arg("class_file"));
  nb::enum_<WaitEnding>(m, "CausalWaitEnding")
      .value("WOKEN", WaitEnding::kWoken)
      .value("TIMED_OUT", WaitEnding::kTimedOut)
      .value("AS_MARKED", WaitEnding::kAsMarked);
  nb::class_<CausalLedger>(m, "CausalLedger")
      .def(nb::init<int>(), nb::arg("cores"))
      .def("open", &CausalLedger::open)
      .def("close", &CausalLedger::close)
      .def("begin_experiment", &CausalLedger::begin_experiment)
      .def("experiment", &CausalLedger::experiment)
      .def("delay_ns", &CausalLedger::delay_ns)
      .def("owed_ns", &CausalLedger::owed_ns)
      .def("hit", &CausalLedger::hit)
      .def("hit_asleep", &CausalLedger::hit_asleep)
      .def("excuse_hit", &CausalLedger::excuse_hit)
      .def("excuse_all", &CausalLedger::excuse_all)
      .def("pay", &CausalLedger::pay)
      .def("excuse", &CausalLedger::excuse, nb::arg("thread"), nb::arg("wall_ns"), nb::arg("cpu_ns"),
           nb::arg("run_delay_ns"), nb::arg("burns") = false)
      .def("look", &CausalLedger::look)
      .def("wait_begins", &CausalLedger::wait_begins)
      .def("woken", &CausalLedger::woken)
      .def("wait_ends", &CausalLedger::wait_ends)
      .def("owes_nothing_by_words", &CausalLedger::owes_nothing_by_words)
      .def("is_in_debt", &CausalLedger::is_in_debt)
      .def("reads_own", &CausalLedger::reads_own)
      .def("open_accounts", &CausalLedger::open_accounts)
      .def("unprofiled_threads", &CausalLedger::unprofiled_threads);
}
