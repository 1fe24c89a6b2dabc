// What a collector throws when this machine does not let it work: which step failed and why, for the caller to map to a
// message. Python sees it as headway._native.CollectorError with attributes step, errno and detail.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace headway {

// The step of a collector that failed, with errno and a detail.
class CollectorError : public std::runtime_error {
 public:
  // `step` names what was tried ("btf", "load", "attach", "process", "spool", ...); `reason` is an errno value;
  // `detail` is free text (a path, the last lines of libbpf's log).
  CollectorError(std::string step, int reason, std::string detail);

  const std::string& step() const { return step_; }
  int reason() const { return reason_; }
  const std::string& detail() const { return detail_; }

 private:
  std::string step_;
  int reason_;
  std::string detail_;
};

}  // namespace headway
