#include "conformance/page.h"

#include <gtest/gtest.h>

#include "engine/verified_architectures.h"
#include "testing/base/golden_file.h"

namespace cairn::conformance {
namespace {

TEST(ArchitecturePage, SaysWhatTheVerifiedTableSays) {
  ExpectSourceFile("docs/architectures.md", RenderPage(VerifiedArchitectures()));
}

TEST(ArchitecturePage, CountsWhatIsExact) {
  const ArchitectureTable table = {
      "libllama 1.2.3",
      {{"a", "dense", "attention", "64", "exact", "12 of 12", "exact", "exact"},
       {"b", "moe", "hybrid", "none", "exact", "9 of 12, off by 2e-06", "aborts", "exact"},
       {"c", "dense", "none", "-", "-", "-", "-", "-"},
       {"d", "dense", "recurrent", "1", "exact", "12 of 12", "none", "aborts"}}};
  const std::string page = RenderPage(table);
  EXPECT_NE(page.find("Made with libllama 1.2.3: 4 models, 3 of them with a memory. Snapshots "
                      "exact: 3. All resumes exact: 2. Segments exact: 1, without memory to move: "
                      "1. Full states exact: 2.\n"),
            std::string::npos)
      << page;
  EXPECT_NE(
      page.find("| `b` | moe | hybrid | none | exact | 9 of 12, off by 2e-06 | aborts | exact |\n"),
      std::string::npos)
      << page;
}

}  // namespace
}  // namespace cairn::conformance
