#include "cmd/serve/adapters/adapter_flags.h"

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>

#include "sched/request/adapter_name_space.h"
#include "testing/cmd/parsed_flags.h"

namespace cairn {
namespace {

using test::ParsedFlags;

std::string Files(const std::string& flags) {
  const auto files = AdapterFilesOf(ParsedFlags(flags).adapters);
  if (!files) return files.error().message;
  std::ostringstream text;
  for (const auto& file : *files) text << file.path << "=" << file.scale << " ";
  return text.str();
}

TEST(AdapterFlags, AreThoseOfLlamaServer) {
  EXPECT_EQ(Files(""), "");
  EXPECT_EQ(Files("--lora a.gguf,b.gguf --lora c.gguf"), "a.gguf=1 b.gguf=1 c.gguf=1 ");
  EXPECT_EQ(Files("--lora-scaled a.gguf:0.5,C:/b.gguf:-2 --lora c.gguf"),
            "c.gguf=1 a.gguf=0.5 C:/b.gguf=-2 ");
  EXPECT_EQ(Files("--lora a.gguf --lora-scaled b.gguf:3 --lora-init-without-apply"),
            "a.gguf=0 b.gguf=0 ");
  for (const char* wrong : {"a.gguf", "a.gguf:", ":1", "a.gguf:x", "a.gguf:1x", "a.gguf:nan"}) {
    EXPECT_NE(Files(std::string("--lora-scaled ") + wrong).find("FILE:SCALE"), std::string::npos)
        << wrong;
  }
}

TEST(ControlFlags, AreThoseOfLlamaServer) {
  LlamaOptions llama;
  FillAdapters(ParsedFlags("--control-vector a.gguf,b.gguf --control-vector-scaled c.gguf:-0.5 "
                           "--control-vector-layer-range 3 9 -m m.gguf")
                   .adapters,
               &llama);
  ASSERT_EQ(llama.control_vectors.size(), 3u);
  EXPECT_EQ(llama.control_vectors[1].path, "b.gguf");
  EXPECT_EQ(llama.control_vectors[2].scale, -0.5F);
  EXPECT_EQ(llama.control_layer_first, 3);
  EXPECT_EQ(llama.control_layer_last, 9);
}

TEST(ControlFlags, ThatDoNotFitAreRefused) {
  for (const char* wrong : {"--control-vector-scaled a.gguf", "--control-vector-layer-range 1 2",
                            "--control-vector a.gguf --control-vector-layer-range 9 3"}) {
    EXPECT_FALSE(ControlFilesOf(ParsedFlags(wrong).adapters).has_value()) << wrong;
  }
}

class AdapterNamesTest : public ::testing::Test {
 protected:
  std::map<NamespaceId, uint64_t> Names(const AdapterSets* sets) const {
    const auto names = names_.NamesOf(*keys_, sets);
    return {names.begin(), names.end()};
  }
  AdapterNames names_;
  const std::shared_ptr<ApiKeys> keys_ = *ApiKeys::Make({"one", "two"});
};

TEST_F(AdapterNamesTest, ASetHasOneNameWhateverItsNumberIs) {
  AdapterSets started_with({{"a", "d1", "", ""}, {"b", "d2", "", ""}}, {0.5, 0});
  AdapterSets started_without({{"b", "d2", "", ""}, {"x", "d1", "", ""}}, {0, 0});
  const auto with = Names(&started_with);
  const NamespaceId first = WithAdapters(1, *started_without.SetOf({0, 0.5}));
  EXPECT_TRUE(names_.Add(first));
  EXPECT_FALSE(names_.Add(first));
  const auto without = Names(&started_without);
  EXPECT_EQ(with.at(1), without.at(first));
  EXPECT_NE(without.at(1), without.at(first));
  EXPECT_EQ(without.size(), with.size() + 1);
}

TEST_F(AdapterNamesTest, ASetThatWasFreedHasNoName) {
  AdapterSets sets({{"a", "d1", "", ""}}, {0});
  EXPECT_FALSE(names_.ForgetFreed(&sets));
  EXPECT_FALSE(names_.ForgetFreed(nullptr));
  const NamespaceId first = WithAdapters(1, *sets.SetOf({1}));
  names_.Add(first);
  EXPECT_TRUE(Names(&sets).contains(first));
  for (size_t i = 0; i < AdapterSets::kSetsMax; ++i) {
    ASSERT_TRUE(sets.SetOf({2.0F + static_cast<float>(i)}).has_value());
  }
  EXPECT_FALSE(Names(&sets).contains(first));
  EXPECT_TRUE(names_.ForgetFreed(&sets));
  EXPECT_FALSE(names_.ForgetFreed(&sets)) << "once";
  EXPECT_TRUE(names_.Add(first)) << "it was forgotten";
}

TEST_F(AdapterNamesTest, WithoutAdaptersTheNamesAreThoseOfTheKeys) {
  AdapterSets sets({{"a", "d1", "", ""}}, {0});
  EXPECT_EQ(Names(&sets), Names(nullptr));
}

TEST_F(AdapterNamesTest, NoTwoKeysOrSetsShareAName) {
  AdapterSets sets({{"a", "d1", "", ""}, {"b", "d2", "", ""}}, {0, 0});
  for (const AdapterScales& scales : std::vector<AdapterScales>{{1, 0}, {0, 1}, {1, 1}, {2, 0}}) {
    for (const NamespaceId key : {0, 1, 2}) names_.Add(WithAdapters(key, *sets.SetOf(scales)));
  }
  std::set<uint64_t> different;
  const auto names = Names(&sets);
  for (const auto& [name_space, name] : names) different.insert(name);
  EXPECT_EQ(different.size(), names.size());
  EXPECT_EQ(names.size(), 15u);
}

}  // namespace
}  // namespace cairn
