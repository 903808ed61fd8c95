// The page docs/architectures.md, generated from the table of architectures.

#ifndef CAIRN_TESTS_CONFORMANCE_PAGE_H_
#define CAIRN_TESTS_CONFORMANCE_PAGE_H_

#include <string>

#include "engine/architecture_table.h"

namespace cairn::conformance {

std::string RenderPage(const ArchitectureTable& table);

}  // namespace cairn::conformance

#endif  // CAIRN_TESTS_CONFORMANCE_PAGE_H_
