#include "spool/collector_error.h"

#include <system_error>

namespace headway {

CollectorError::CollectorError(std::string step, int reason, std::string detail)
    : std::runtime_error(step + ": " + std::generic_category().message(reason) + (detail.empty() ? "" : ": " + detail)),
      step_(std::move(step)),
      reason_(reason),
      detail_(std::move(detail)) {}

}  // namespace headway
