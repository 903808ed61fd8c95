#include "cmd/llama_flags/llama_translation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace cairn {
namespace {

using Words = std::vector<std::string>;

Result<LlamaMeaning> Translate(const std::string& spelling, Words values = {}) {
  const LlamaFlagTable::Found found = OwnLlamaFlags().Find(spelling);
  EXPECT_NE(found.flag, nullptr) << spelling;
  return TranslateLlamaFlag({found.flag, spelling, found.negates, std::move(values)});
}

// The flags of ours, or the error.
Words FlagsOf(const std::string& spelling, Words values = {}) {
  const auto meaning = Translate(spelling, std::move(values));
  return meaning ? meaning->arguments : Words{meaning.error().message};
}

TEST(LlamaTranslation, GivesOurNamesAndTheValues) {
  EXPECT_EQ(FlagsOf("-ngl", {"99"}), (Words{"--gpu-layers=99"}));
  EXPECT_EQ(FlagsOf("--temperature", {"0.5"}), (Words{"--temp=0.5"}));
  EXPECT_EQ(FlagsOf("-nkvo"), (Words{"--kv-offload=false"}));
  EXPECT_EQ(FlagsOf("-cmoe"), (Words{"--cpu-moe"}));
  EXPECT_EQ(FlagsOf("--alias", {""}), (Words{"--alias", ""}));
  EXPECT_EQ(FlagsOf("--control-vector-layer-range", {"3", "9"}),
            (Words{"--control-vector-layer-range=3,9"}));
}

TEST(LlamaTranslation, TakesTheValuesThatLlamaServerTakes) {
  EXPECT_EQ(FlagsOf("-fa", {"on"}), (Words{"--flash-attn=on"}));
  EXPECT_EQ(FlagsOf("-fa", {"1"}), (Words{"--flash-attn=on"}));
  EXPECT_EQ(FlagsOf("-fa", {"disabled"}), (Words{"--flash-attn=off"}));
  EXPECT_EQ(FlagsOf("-fa", {"-1"}), (Words{"--flash-attn=auto"}));
  EXPECT_EQ(FlagsOf("-fa", {"maybe"}), (Words{"-fa takes on, off or auto, not 'maybe'"}));
  EXPECT_EQ(FlagsOf("-ctk", {"q8_0"}), (Words{"--cache-type-k=q8_0"}));
  EXPECT_EQ(FlagsOf("-ctk", {"q8_1"}).front().substr(0, 10), "-ctk takes");
  EXPECT_EQ(
      FlagsOf("--split-mode", {"rows"}),
      (Words{"--split-mode takes none, layer, row or tensor, not 'rows'; did you mean row?"}));
  EXPECT_EQ(FlagsOf("--poll", {"fast"}), (Words{"--poll takes a whole number, not 'fast'"}));
  EXPECT_EQ(FlagsOf("-sps", {"x"}), (Words{"-sps takes a number, not 'x'"}));
}

TEST(LlamaTranslation, OfEveryPooling) {
  for (const char* way : {"none", "mean", "cls", "last", "rank"}) {
    EXPECT_EQ(FlagsOf("--pooling", {way}), (Words{std::string("--pooling=") + way}));
  }
}

TEST(LlamaTranslation, RaisesABatchThatIsTooSmallForAStart) {
  EXPECT_EQ(FlagsOf("-b", {"16"}), (Words{"--batch-size=24"}));
  EXPECT_EQ(FlagsOf("-ub", {"1"}), (Words{"--ubatch-size=24"}));
  EXPECT_EQ(Translate("-b", {"16"})->note, "-b 16 is raised to 24, the least batch of a start");
  for (const char* kept : {"24", "2048", "0", "-1", "16x"}) {
    EXPECT_EQ(FlagsOf("--batch-size", {kept}), (Words{"--batch-size=" + std::string(kept)}));
    EXPECT_EQ(Translate("--batch-size", {kept})->note, "") << kept;
  }
}

TEST(LlamaTranslation, OfModesOfLoading) {
  EXPECT_EQ(FlagsOf("-lm", {"auto"}), Words());
  EXPECT_EQ(FlagsOf("-lm", {"none"}), (Words{"--mmap=false"}));
  EXPECT_EQ(FlagsOf("-lm", {"mmap"}), (Words{"--mmap"}));
  EXPECT_EQ(FlagsOf("-lm", {"mlock"}), (Words{"--mmap=false", "--mlock"}));
  EXPECT_EQ(FlagsOf("--load-mode", {"mmap+mlock"}), (Words{"--mmap", "--mlock"}));
  EXPECT_FALSE(Translate("-lm", {"dio"})->note.empty());
}

TEST(LlamaTranslation, OfFlagsWithAnotherForm) {
  EXPECT_EQ(FlagsOf("--sampler-seq", {"edk"}), (Words{"--samplers=penalties;dry;top_k"}));
  EXPECT_EQ(FlagsOf("-lv", {"0"}), (Words{"--log-level=error"}));
  EXPECT_EQ(FlagsOf("-lv", {"3"}), (Words{"--log-level=info"}));
  EXPECT_EQ(FlagsOf("-lv", {"99"}), (Words{"--log-level=debug"}));
  EXPECT_EQ(FlagsOf("--log-jsonl"), (Words{"--log-format=json"}));
  EXPECT_EQ(FlagsOf("--no-log-jsonl"), (Words{"--log-format=human"}));
  EXPECT_EQ(FlagsOf("-ts", {"3/1"}), (Words{"--tensor-split=3,1"}));
  EXPECT_EQ(FlagsOf("-ncffn", {"2"}),
            (Words{R"(--override-tensor=blk\.(0|1)\.ffn_(up|down|gate|gate_up)\.weight=CPU)"}));
  EXPECT_EQ(FlagsOf("--cors-origins", {"https://a.example,localhost"}),
            (Words{"--cors-origin=https://a.example,localhost"}));
  EXPECT_EQ(FlagsOf("--mmproj-device", {"none"}), (Words{"--mmproj-offload=false"}));
}

TEST(LlamaTranslation, OfKindsOfDrafts) {
  EXPECT_EQ(FlagsOf("--spec-type", {"draft-simple,ngram-mod"}),
            (Words{"--spec-type=draft-simple,ngram-mod"}));
  EXPECT_EQ(FlagsOf("--spec-type", {"draft-mtp"}), (Words{"--spec-type=draft-mtp"}));
  const auto meaning = Translate("--spec-type", {"draft-eagle3"});
  ASSERT_TRUE(meaning.has_value());
  EXPECT_EQ(meaning->arguments, (Words{"--spec-type=none"}));
  EXPECT_NE(meaning->note.find("draft-eagle3 has no effect"), std::string::npos);
}

TEST(LlamaTranslation, SaysWhatIsAlwaysSoAndWhatHasNoEffect) {
  EXPECT_TRUE(Translate("--jinja")->is_always_so);
  EXPECT_TRUE(Translate("--jinja")->note.empty());
  EXPECT_FALSE(Translate("--no-jinja")->is_always_so);
  EXPECT_TRUE(Translate("--no-jinja")->note.starts_with("--no-jinja has no effect: "));
  EXPECT_TRUE(
      Translate("--threads-http", {"4"})->note.starts_with("--threads-http has no effect: "));
  EXPECT_TRUE(Translate("--no-agent")->is_always_so);
  EXPECT_TRUE(Translate("--embd-normalize", {"2"})->is_always_so);
  EXPECT_FALSE(Translate("--embd-normalize", {"-1"}).has_value());
}

TEST(LlamaTranslation, RefusesWithAReason) {
  const auto meaning = Translate("--tools", {"all"});
  ASSERT_FALSE(meaning.has_value());
  EXPECT_TRUE(meaning.error().message.starts_with("--tools is refused: "));
  const auto token = Translate("-hft", {"secret"});
  ASSERT_FALSE(token.has_value());
  EXPECT_EQ(token.error().message.find("secret"), std::string::npos);
}

TEST(LlamaTranslation, OfModelsByNameAreDefaults) {
  const auto meaning = Translate("--fim-qwen-7b-spec");
  ASSERT_TRUE(meaning.has_value());
  EXPECT_TRUE(meaning->arguments.empty());
  EXPECT_EQ(meaning->defaults.front(), "--hf-repo=ggml-org/Qwen2.5-Coder-7B-Q8_0-GGUF");
  EXPECT_NE(std::find(meaning->defaults.begin(), meaning->defaults.end(), "--port=8012"),
            meaning->defaults.end());
}

}  // namespace
}  // namespace cairn
