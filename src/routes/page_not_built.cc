// Replaces the page's files in a build without them.

#include "routes/page.h"

namespace cairn {

std::span<const PageFile> BuiltPage() {
  return {};
}

}  // namespace cairn
