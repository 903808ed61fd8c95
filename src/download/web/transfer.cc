#include "download/web/transfer.h"

#include <algorithm>

#include "base/ignore_case.h"

namespace cairn {

std::string TransferHead::Header(std::string_view name) const {
  const auto found = std::find_if(headers.rbegin(), headers.rend(), [name](const auto& header) {
    return SameIgnoringCase(header.first, name);
  });
  return found == headers.rend() ? std::string() : found->second;
}

}  // namespace cairn
