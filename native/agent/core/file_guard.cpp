#include "agent/core/file_guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstring>

namespace headway::agent {
namespace {

// As the kernel has it. The C library's own sigaction may be libjsig's, which would put us behind the JVM's handler:
// that one could no longer tell a fault that nobody wants from one that we took.
struct KernelAction {
  void (*handler)(int, siginfo_t*, void*);
  unsigned long flags;
  void (*restorer)();
  uint64_t mask;
};
constexpr unsigned long kHasRestorer = 0x04000000;

bool exchange_action(int number, const KernelAction* action, KernelAction* before) {
  return syscall(SYS_rt_sigaction, number, action, before, sizeof(uint64_t)) == 0;
}

bool is(const KernelAction& action, void (*fixed)(int)) {
  return reinterpret_cast<uintptr_t>(action.handler) == reinterpret_cast<uintptr_t>(fixed);
}

bool is_default(const KernelAction& action) { return is(action, SIG_DFL) || is(action, SIG_IGN); }

// --- the mappings ----------------------------------------------------------------------------------------------------

struct Range {
  std::atomic<std::byte*> at{nullptr};  // nullptr: free
  std::atomic<uint64_t> bytes{0};
  std::atomic<std::atomic<bool>*> cut{nullptr};
  std::atomic<const uint32_t*> stop_at{nullptr};
  std::atomic<uint64_t> let_go{0};  // the when-th that was let go of; 0: it is still a file's
};

struct Guard {
  std::array<Range, 64> ranges;
  std::atomic<uint64_t> faults{0};
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // of what follows; no handler takes it
  uint32_t live = 0;
  uint64_t let_go = 0;
};
constinit Guard guard;

// Memory is got elsewhere first, where failing is harmless. Twice does no more harm than once: what is there is
// nobody's.
bool replace(std::byte* at, uint64_t bytes, const uint32_t* stop_at) {
  const long fresh =
      syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
  if (fresh < 0 && fresh > -4096) return false;
  const auto* stop = reinterpret_cast<const std::byte*>(stop_at);
  if (stop != nullptr && stop >= at && stop + sizeof(uint32_t) <= at + bytes) {
    auto* const word = reinterpret_cast<uint32_t*>(reinterpret_cast<std::byte*>(fresh) + (stop - at));
    std::atomic_ref<uint32_t>(*word).store(1, std::memory_order_relaxed);
  }
  const long moved = syscall(SYS_mremap, fresh, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at);
  if (moved == reinterpret_cast<long>(at)) return true;
  syscall(SYS_munmap, fresh, bytes);
  return false;
}

bool give_up_range(const Range& range, std::byte* at, const std::byte* fault) {
  const auto page = static_cast<uint64_t>(getpagesize());
  const uint64_t bytes = range.bytes.load(std::memory_order_acquire);
  const uint32_t* stop_at = range.stop_at.load(std::memory_order_relaxed);
  range.cut.load(std::memory_order_relaxed)->store(true, std::memory_order_release);
  if (replace(at, (bytes + page - 1) / page * page, stop_at)) return true;
  // Where so much memory can't be had, the page alone will do for now.
  return fault != nullptr && replace(at + static_cast<uint64_t>(fault - at) / page * page, page, stop_at);
}

// Whether the fault was at a place of ours, which can be stored to now.
bool take_fault(const siginfo_t* info) {
  if (info == nullptr || info->si_code <= 0) return false;  // somebody sent it
  const auto* fault = static_cast<const std::byte*>(info->si_addr);
  for (const Range& range : guard.ranges) {
    std::byte* const at = range.at.load(std::memory_order_acquire);
    if (at == nullptr || fault < at || fault >= at + range.bytes.load(std::memory_order_acquire)) continue;
    guard.faults.fetch_add(1, std::memory_order_relaxed);
    return give_up_range(range, at, fault);
  }
  return false;
}

// --- the handler -----------------------------------------------------------------------------------------------------

// Who installs a handler behind ours may call ours for good: then it stays, and a later one of ours comes before his,
// by a function of its own. Else the two would call each other for ever.
constexpr size_t kHandlers = 4;
struct Installed {
  std::atomic<bool> is_taken{false};
  KernelAction before{};
};
constinit std::array<Installed, kHandlers> installed;

void pass_on(const KernelAction& before, int number, siginfo_t* info, void* context) {
  if (!is_default(before)) {
    // With SA_SIGINFO or without: who expects one argument does not look at the others.
    before.handler(number, info, context);
    return;
  }
  // As if we had not been here: it happens again, or is sent again, without us.
  KernelAction action = before;
  const bool is_sent = info != nullptr && info->si_code <= 0;
  if (is_sent && is(before, SIG_IGN)) return;
  exchange_action(number, &action, nullptr);
  if (is_sent) syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

template <size_t kNumber>
void on_fault(int number, siginfo_t* info, void* context) {
  const int error = errno;
  const bool is_ours = take_fault(info);
  errno = error;
  if (!is_ours) pass_on(installed[kNumber].before, number, info, context);
}
constexpr std::array<void (*)(int, siginfo_t*, void*), kHandlers> kFunctions{&on_fault<0>, &on_fault<1>, &on_fault<2>,
                                                                             &on_fault<3>};

// Which of ours is called first; kHandlers: none.
size_t first_of_ours(KernelAction& now) {
  if (!exchange_action(SIGBUS, nullptr, &now)) return kHandlers;
  for (size_t i = 0; i < kHandlers; ++i) {
    if (now.handler == kFunctions[i] && installed[i].is_taken.load()) return i;
  }
  return kHandlers;
}

// The C library's code behind a handler, from any that it has installed.
void (*find_restorer(const KernelAction& now))() {
  if ((now.flags & kHasRestorer) != 0) return now.restorer;
  for (int number = 1; number < 32; ++number) {
    KernelAction action{};
    if (exchange_action(number, nullptr, &action) && (action.flags & kHasRestorer) != 0) return action.restorer;
  }
  return nullptr;
}

bool install_as(size_t number, const KernelAction& now) {
  KernelAction action = now;
  action.handler = kFunctions[number];
  if (is_default(now)) {
    constexpr uint64_t kFaults = uint64_t{1} << (SIGSEGV - 1) | uint64_t{1} << (SIGBUS - 1) |
                                 uint64_t{1} << (SIGILL - 1) | uint64_t{1} << (SIGFPE - 1) |
                                 uint64_t{1} << (SIGTRAP - 1);
    action.flags = SA_RESTART | SA_ONSTACK;
    action.mask = ~kFaults;
  }
  action.flags |= SA_SIGINFO;
  installed[number].before = now;
#if !defined(__x86_64__)  // which alone can't do without
  return exchange_action(SIGBUS, &action, nullptr);
#endif
  if (void (*const restorer)() = find_restorer(now)) {
    action.flags |= kHasRestorer;
    action.restorer = restorer;
    return exchange_action(SIGBUS, &action, nullptr);
  }
  struct sigaction portable {};
  portable.sa_sigaction = action.handler;
  portable.sa_flags = static_cast<int>(action.flags & ~kHasRestorer);
  std::memcpy(&portable.sa_mask, &action.mask, sizeof(action.mask));
  return sigaction(SIGBUS, &portable, nullptr) == 0;
}

// Under the lock. Once a fault was taken another one may be on its way, and nobody else would know what to do with it.
void uninstall() {
  KernelAction now{};
  const size_t number = first_of_ours(now);
  if (number == kHandlers || guard.faults.load() != 0) return;
  if (exchange_action(SIGBUS, &installed[number].before, nullptr)) installed[number].is_taken = false;
}

struct Locked {
  Locked() { pthread_mutex_lock(&guard.lock); }
  ~Locked() { pthread_mutex_unlock(&guard.lock); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
};

// Free, or let go of longest ago.
int choose_place() {
  int chosen = -1;
  for (size_t i = 0; i < guard.ranges.size(); ++i) {
    const Range& range = guard.ranges[i];
    if (range.at.load() == nullptr) return static_cast<int>(i);
    const uint64_t let_go = range.let_go.load();
    if (let_go != 0 && (chosen < 0 || let_go < guard.ranges[static_cast<size_t>(chosen)].let_go.load())) {
      chosen = static_cast<int>(i);
    }
  }
  return chosen;
}

Range& range_at(int place) { return guard.ranges[static_cast<size_t>(place)]; }

}  // namespace

bool FileGuard::install() noexcept {
  const Locked locked;
  KernelAction now{};
  if (first_of_ours(now) != kHandlers) return true;
  if ((now.flags & SA_RESETHAND) != 0) return false;  // ours would be gone after the first fault, or his would not
  for (size_t i = 0; i < kHandlers; ++i) {
    if (installed[i].is_taken.exchange(true)) continue;
    if (install_as(i, now)) return true;
    installed[i].is_taken = false;
    return false;
  }
  return false;
}

bool FileGuard::watch(std::byte* at, uint64_t bytes, std::atomic<bool>* cut, const uint32_t* stop_at) noexcept {
  const Locked locked;
  place_ = choose_place();
  if (place_ < 0) return false;
  Range& range = range_at(place_);
  range.at.store(nullptr, std::memory_order_release);
  range.bytes.store(bytes, std::memory_order_relaxed);
  range.cut.store(cut, std::memory_order_relaxed);
  range.stop_at.store(stop_at, std::memory_order_relaxed);
  range.let_go.store(0, std::memory_order_relaxed);
  range.at.store(at, std::memory_order_release);
  is_live_ = true;
  ++guard.live;
  return true;
}

void FileGuard::grow(uint64_t bytes) noexcept {
  if (place_ >= 0) range_at(place_).bytes.store(bytes, std::memory_order_release);
}

void FileGuard::let_go() noexcept {
  if (!is_live_) return;
  const Locked locked;
  is_live_ = false;
  range_at(place_).let_go.store(++guard.let_go, std::memory_order_release);
  if (--guard.live == 0) uninstall();
}

void FileGuard::forget() noexcept {
  let_go();
  const Locked locked;
  if (place_ >= 0) range_at(place_).at.store(nullptr, std::memory_order_release);
  place_ = -1;
  if (guard.live == 0) uninstall();  // also where nothing came of what it was installed for
}

void FileGuard::give_up() noexcept {
  if (!is_live_) return;
  const Range& range = range_at(place_);
  guard.faults.fetch_add(1, std::memory_order_relaxed);
  give_up_range(range, range.at.load(), nullptr);
}

uint64_t FileGuard::faults() noexcept { return guard.faults.load(std::memory_order_relaxed); }

bool FileGuard::is_installed() noexcept {
  KernelAction now{};
  return first_of_ours(now) != kHandlers;
}

}  // namespace headway::agent
