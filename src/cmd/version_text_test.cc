#include "cmd/version_text.h"

#include <gtest/gtest.h>

#include "engine/llama/backend/llama_backend.h"
#include "routes/page.h"

namespace cairn {
namespace {

TEST(VersionText, BeginsWithTheProgramAndNamesWhatComputes) {
  const std::string text = VersionText();
  EXPECT_EQ(text.rfind("cairn " CAIRN_VERSION "\n", 0), 0u) << text;
  EXPECT_NE(text.find("\n" + LlamaVersions() + "\n"), std::string::npos) << text;
}

TEST(VersionText, SaysWhatBuiltItAndWhetherThePageIsIn) {
  const std::string text = VersionText();
  EXPECT_NE(text.find("built with "), std::string::npos) << text;
  EXPECT_NE(text.find(BuiltPage().empty() ? "without the page" : "with the page"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace cairn
