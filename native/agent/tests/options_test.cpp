// The agent's option string: each option, what makes no sense, and paths with any bytes.
#include "agent/core/options.h"

#include "testing/check.h"

using namespace headway::agent;

namespace {

void every_option_is_read() {
  const Options options = parse_options("spool=/a/b,vthreads=1,children=1,processors=4,nomap=1");
  CHECK_EQUAL(options.spool, "/a/b");
  CHECK(options.vthreads && options.children && options.no_map && !options.stop);
  CHECK_EQUAL(options.processors, 4);
}

void options_of_locks_are_read_and_handed_on() {
  const Options options = parse_options("spool=/a,locks=1,park_threshold=7,forget_dead=1,no_owners=1");
  CHECK(options.locks && options.forget_dead && options.no_owners);
  CHECK_EQUAL(options.park_threshold, 7);
  CHECK_EQUAL(lock_options(options), ",locks=1,park_threshold=7,forget_dead=1,no_owners=1");
  CHECK_EQUAL(lock_options(parse_options("locks=1")), ",locks=1");
  CHECK_EQUAL(lock_options(parse_options("spool=/a,park_threshold=7")), "");
}

void options_of_samples_are_read_and_handed_on() {
  const std::string text = ",sampler=/a%2Cb/lib.so,sample=event%3Dctimer%2Cinterval%3D1";
  const Options options = parse_options("spool=/a" + text);
  CHECK_EQUAL(options.sampler, "/a,b/lib.so");
  CHECK_EQUAL(options.sample, "event=ctimer,interval=1");
  CHECK_EQUAL(sample_options(options), text);
  CHECK_EQUAL(sample_options(parse_options("spool=/a,sample=wall")), "");
}

void options_of_causal_profiling_are_read_and_handed_on() {
  const std::string text = ",causal=progress:P%3Da.B:7%3Bspeedup:5";
  const Options options = parse_options("spool=/a" + text);
  CHECK_EQUAL(options.causal, "progress:P=a.B:7;speedup:5");
  CHECK_EQUAL(causal_options(options), text);
  CHECK_EQUAL(causal_options(parse_options("spool=/a")), "");
}

void unknown_options_and_nonsense_are_skipped() {
  const Options options = parse_options("later=thing,,=,spool=/x,processors=many,vthreads");
  CHECK_EQUAL(options.spool, "/x");
  CHECK_EQUAL(options.processors, 0);
  CHECK(!options.vthreads);
}

void a_path_with_any_byte_survives_the_round_trip() {
  std::string path;
  for (int c = 1; c < 256; ++c) path += static_cast<char>(c);
  const std::string encoded = percent_encode(path);
  CHECK(encoded.find_first_of(" ,'\"=\n") == std::string::npos);
  CHECK_EQUAL(parse_options("spool=" + encoded).spool, path);
}

void a_stray_percent_sign_is_itself() {
  CHECK_EQUAL(percent_decode("100%"), "100%");
  CHECK_EQUAL(percent_decode("%zz%4"), "%zz%4");
}

}  // namespace

int main() {
  every_option_is_read();
  options_of_locks_are_read_and_handed_on();
  options_of_samples_are_read_and_handed_on();
  options_of_causal_profiling_are_read_and_handed_on();
  unknown_options_and_nonsense_are_skipped();
  a_path_with_any_byte_survives_the_round_trip();
  a_stray_percent_sign_is_itself();
}
