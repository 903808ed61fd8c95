// In place of the page's files, where they were not built.

#include "http/page/page.h"

namespace cairn {

std::span<const PageFile> BuiltPage() {
  return {};
}

}  // namespace cairn
