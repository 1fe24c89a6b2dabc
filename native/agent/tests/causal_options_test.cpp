// The agent's option `causal=SPEC`: each key, its default, and what makes no sense.
#include "agent/causal/common/options.h"

#include "agent/core/options.h"
#include "testing/check.h"

using namespace headway::agent::causal;
using headway::agent::percent_encode;

namespace {

void every_key_is_read() {
  const Spec spec = parse_spec(
      "progress:P%3Da.B.run;progress:L=a.B:42;latency:Q=a.C.begin%2Ca.C.end;scope:a.%2A;scope:b.C;target:line=a.B:7;"
      "speedup:35;suggest:1;period_us:500;warmup_ms:20;min_visits:9;experiment_ms:70;seed:11");
  CHECK(spec.problems.empty());
  CHECK_EQUAL(spec.progress.size(), 2U);
  CHECK_EQUAL(spec.progress[0].name, "P");
  CHECK_EQUAL(spec.progress[0].place.class_name, "a.B");
  CHECK_EQUAL(spec.progress[0].place.method, "run");
  CHECK_EQUAL(spec.progress[1].place.line, 42);
  CHECK_EQUAL(spec.latency[0].begin.method, "begin");
  CHECK_EQUAL(spec.latency[0].end.method, "end");
  CHECK_EQUAL(spec.scope[0] + ' ' + spec.scope[1], "a.* b.C");
  CHECK(spec.target.kind == TargetKind::kLine);
  CHECK_EQUAL(spec.target.place.line, 7);
  CHECK_EQUAL(spec.speedup_pct, 35);
  CHECK(spec.suggest);
  CHECK(spec.period_is_asked);
  CHECK_EQUAL(spec.period_ns, 500'000);
  CHECK_EQUAL(spec.warmup_ns, 20'000'000);
  CHECK_EQUAL(spec.min_visits, 9);
  CHECK_EQUAL(spec.experiment_ns, 70'000'000);
  CHECK_EQUAL(spec.seed, 11U);
}

void what_is_not_given_has_its_default() {
  const Spec spec = parse_spec("");
  CHECK(spec.progress.empty() && spec.scope.empty() && spec.problems.empty() && !spec.suggest);
  CHECK(spec.target.kind == TargetKind::kNone);
  CHECK_EQUAL(spec.speedup_pct, kNoSpeedup);
  CHECK(!spec.period_is_asked);
  CHECK_EQUAL(spec.min_visits, 20);
}

void targets_of_each_kind_are_told_apart() {
  CHECK(parse_spec("target:gc").target.kind == TargetKind::kCollections);
  CHECK(parse_spec("target:lock=a.Lock").target.kind == TargetKind::kLock);
  CHECK_EQUAL(parse_spec("target:lock=a.Lock").target.place.class_name, "a.Lock");
  CHECK_EQUAL(parse_spec("target:lock=a.Store.put").target.place.class_name, "a.Store.put");
  CHECK_EQUAL(parse_spec("target:lock=a.Store:42").target.place.class_name, "a.Store");
  CHECK_EQUAL(parse_spec("target:lock=a.Store:42").target.place.line, 42);
  CHECK(parse_spec("target:lock=a.Store:42").target.kind == TargetKind::kLock);
  CHECK(parse_spec("target:method=a.B.run").target.kind == TargetKind::kMethod);
  CHECK(parse_spec("target:method=a.B:7").target.kind == TargetKind::kNone);
  CHECK_EQUAL(parse_spec("target:line=a.B.run").problems.size(), 1U);
}

void a_descriptor_tells_methods_of_one_name_apart() {
  const Spec spec = parse_spec("progress:P=" + percent_encode("a.B$C.run(Ljava.lang.String;I)V"));
  CHECK_EQUAL(spec.progress[0].place.class_name, "a.B$C");
  CHECK_EQUAL(spec.progress[0].place.method, "run");
  CHECK_EQUAL(spec.progress[0].place.descriptor, "(Ljava.lang.String;I)V");
}

void nonsense_is_reported_and_skipped() {
  const Spec spec = parse_spec("later:thing;;:;progress:run;progress:P=;progress:P=a.B:0;speedup:110;seed:x;scope:;x");
  CHECK_EQUAL(spec.problems.size(), 6U);
  CHECK_EQUAL(spec.problems[0], "progress can't be 'run'");
  CHECK(spec.progress.empty());
  CHECK_EQUAL(spec.speedup_pct, kNoSpeedup);
}

void values_may_hold_what_separates() {
  const Spec spec = parse_spec("progress:" + percent_encode("a;b:c,d%=a.B.run") + ";seed:3");
  CHECK_EQUAL(spec.progress[0].name, "a;b:c,d%");
  CHECK_EQUAL(spec.seed, 3U);
}

}  // namespace

int main() {
  every_key_is_read();
  what_is_not_given_has_its_default();
  targets_of_each_kind_are_told_apart();
  a_descriptor_tells_methods_of_one_name_apart();
  nonsense_is_reported_and_skipped();
  values_may_hold_what_separates();
}
