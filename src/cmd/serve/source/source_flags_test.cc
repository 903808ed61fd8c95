#include "cmd/serve/source/source_flags.h"

#include <gtest/gtest.h>

#include <exception>
#include <string>

#include "testing/cmd/parsed_flags.h"

namespace cairn {
namespace {

using test::ParsedFlags;

std::string Refusal(const std::string& flags) {
  try {
    const Status checked = CheckSourceFlags(ParsedFlags(flags));
    return checked ? "" : checked.error().message;
  } catch (const std::exception& error) {
    return error.what();
  }
}

TEST(SourceFlags, ShortFormsAreThoseOfLlamaServer) {
  const ServeOptions options =
      ParsedFlags("-hf a/b:Q8_0 -hff c.gguf -hfd d/e --no-mmproj --offline");
  EXPECT_EQ(options.source.hub_name, "a/b:Q8_0");
  EXPECT_EQ(options.source.hub_file, "c.gguf");
  EXPECT_EQ(options.source.draft_hub_name, "d/e");
  EXPECT_FALSE(options.source.mmproj_auto);
  EXPECT_TRUE(options.source.offline);
  EXPECT_EQ(ParsedFlags("-mu https://a/b.gguf").source.model_url, "https://a/b.gguf");
  EXPECT_TRUE(ParsedFlags("-hfr a/b").source.mmproj_auto);
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
  EXPECT_EQ(ModelNameOf(ParsedFlags("-hf a/b:Q8_0")), "a/b:Q8_0");
  EXPECT_EQ(ModelNameOf(ParsedFlags("-hf a/b -a mine")), "mine");
  EXPECT_EQ(ModelNameOf(ParsedFlags("-m dir/m.gguf -a mine,yours")), "mine");
  EXPECT_EQ(NamesIn("mine, yours ,, ,a"), (std::vector<std::string>{"mine", "yours", "a"}));
  EXPECT_TRUE(NamesIn("").empty());
  EXPECT_EQ(ModelNameOf(ParsedFlags("-m dir/m.gguf")), "m.gguf");
  EXPECT_EQ(ModelNameOf(ParsedFlags("-mu https://a/dir/m.gguf?x=1")), "m.gguf");
}

}  // namespace
}  // namespace cairn
