#include "cmd/serve/source/source_flags.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cmd/short_flags.h"

namespace cairn {
namespace {

ServeOptions Parsed(const std::string& flags) {
  ServeOptions options;
  CLI::App app;
  AddServe(&app, &options);
  std::vector<std::string> arguments = {"serve"};
  std::istringstream words(flags);
  for (std::string word; words >> word;) arguments.push_back(word);
  arguments = SpellOutShortFlags(std::move(arguments));
  std::reverse(arguments.begin(), arguments.end());
  app.parse(arguments);
  return options;
}

std::string Refusal(const std::string& flags) {
  const Status checked = CheckSourceFlags(Parsed(flags));
  return checked ? "" : checked.error().message;
}

TEST(SourceFlags, ShortFormsAreThoseOfLlamaServer) {
  const ServeOptions options = Parsed("-hf a/b:Q8_0 -hff c.gguf -hfd d/e --no-mmproj --offline");
  EXPECT_EQ(options.source.hub_name, "a/b:Q8_0");
  EXPECT_EQ(options.source.hub_file, "c.gguf");
  EXPECT_EQ(options.source.draft_hub_name, "d/e");
  EXPECT_FALSE(options.source.mmproj_auto);
  EXPECT_TRUE(options.source.offline);
  EXPECT_EQ(Parsed("-mu https://a/b.gguf").source.model_url, "https://a/b.gguf");
  EXPECT_TRUE(Parsed("-hfr a/b").source.mmproj_auto);
}

TEST(SourceFlags, NameOneModel) {
  for (const char* right : {"-m a.gguf", "-hf a/b", "-mu https://a/b.gguf",
                            "-mu https://a/b.gguf -m c.gguf", "-hf a/b --hf-file c.gguf"})
    EXPECT_EQ(Refusal(right), "") << right;
  EXPECT_NE(Refusal("").find("no model is named"), std::string::npos);
  EXPECT_NE(Refusal("-hf a/b -m c.gguf").find("name two models"), std::string::npos);
  EXPECT_NE(Refusal("-hf a/b -mu https://a/b.gguf").find("name two models"), std::string::npos);
  EXPECT_NE(Refusal("-m c.gguf --hf-file d.gguf").find("--hf-repo"), std::string::npos);
}

TEST(SourceFlags, ATokenOnTheCommandLineIsRefusedAndNotRepeated) {
  const std::string refusal = Refusal("-hf a/b -hft hf_secret");
  EXPECT_NE(refusal.find("HF_TOKEN"), std::string::npos) << refusal;
  EXPECT_EQ(refusal.find("hf_secret"), std::string::npos);
}

TEST(SourceFlags, TheModelsNameIsTheRepositorysOrTheFiles) {
  EXPECT_EQ(ModelNameOf(Parsed("-hf a/b:Q8_0")), "a/b:Q8_0");
  EXPECT_EQ(ModelNameOf(Parsed("-hf a/b -a mine")), "mine");
  EXPECT_EQ(ModelNameOf(Parsed("-m dir/m.gguf")), "m.gguf");
  EXPECT_EQ(ModelNameOf(Parsed("-mu https://a/dir/m.gguf?x=1")), "m.gguf");
}

}  // namespace
}  // namespace cairn
