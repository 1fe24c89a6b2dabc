// What parts of the causal profiler that are not built yet would answer. Weak: a part's own definition takes its place.
#include "agent/causal/causal.h"

#define HW_MISSING __attribute__((weak))

namespace headway::agent::causal {

HW_MISSING Account* this_account() noexcept { return nullptr; }
HW_MISSING void thread_begins(JNIEnv*, jthread) noexcept {}
HW_MISSING void thread_ends(JNIEnv*, jthread) noexcept {}
HW_MISSING bool start_blocking(JNIEnv*) noexcept { return true; }
HW_MISSING void stop_blocking(JNIEnv*) noexcept {}
HW_MISSING void begin_epoch(bool) noexcept {}
HW_MISSING void cause_delay(Account&, int64_t) noexcept {}
HW_MISSING int64_t epoch_delay_ns() noexcept { return 0; }
HW_MISSING const std::atomic<int64_t>& epoch_delay_word() noexcept {
  static const std::atomic<int64_t> none{0};
  return none;
}
HW_MISSING Payments payments() noexcept { return {}; }
HW_MISSING uint32_t program_threads(uint32_t*, uint32_t) noexcept { return 0; }
HW_MISSING void settle_sample(Account&, bool) noexcept {}
HW_MISSING bool is_waiting(const Account&) noexcept { return false; }
HW_MISSING int64_t spun_ns(const Account&) noexcept { return 0; }
HW_MISSING void arm_timer(Account&, uint32_t) noexcept {}
HW_MISSING void disarm_timer(Account&) noexcept {}
HW_MISSING void timed_wait_ended(JNIEnv*, Account&, int64_t) noexcept {}
HW_MISSING bool start_sampling(JNIEnv*) noexcept { return false; }
HW_MISSING void stop_sampling() noexcept {}
HW_MISSING void note_class(JNIEnv*, jclass, std::string_view) noexcept {}
HW_MISSING bool timers_are_perf() noexcept { return false; }
HW_MISSING SamplingHealth sampling_health() noexcept { return {}; }
HW_MISSING std::string out_of_scope_methods() noexcept { return {}; }
HW_MISSING uint32_t line_limit() noexcept { return 0; }
HW_MISSING bool line_facts(uint32_t, LineFacts&) noexcept { return false; }
HW_MISSING uint32_t find_line(std::string_view, int32_t) noexcept { return 0; }
HW_MISSING uint32_t find_method(std::string_view, std::string_view) noexcept { return 0; }
HW_MISSING bool arm_points(JNIEnv*) noexcept { return false; }
HW_MISSING void instrument_class(JNIEnv*, jclass, std::string_view) noexcept {}
HW_MISSING uint32_t point_count() noexcept { return 0; }
HW_MISSING uint32_t latency_count() noexcept { return 0; }
HW_MISSING LatencyPair latency_pair(uint32_t) noexcept { return {}; }
HW_MISSING Visits visits(uint32_t) noexcept { return {}; }
HW_MISSING void look_after_points(JNIEnv*) noexcept {}
HW_MISSING void disarm_points(JNIEnv*) noexcept {}
HW_MISSING bool points_want_class_files() noexcept { return false; }
HW_MISSING bool prepare_point_class(JNIEnv*, jclass) noexcept { return false; }
HW_MISSING bool insert_points(const char*, jclass, jint, const unsigned char*, jint*, unsigned char**) noexcept {
  return false;
}

}  // namespace headway::agent::causal
