#include "cmd/llama_command_line.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include "cmd/llama_flags/llama_flag_table.h"
#include "cmd/serve/serve.h"
#include "testing/base/golden_file.h"
#include "testing/cmd/parsed_flags.h"

namespace cairn {
namespace {

using Words = std::vector<std::string>;

Result<LlamaLine> Read(const Words& words) {
  CLI::App app;
  ServeOptions options;
  const CLI::App* const serve = AddServe(&app, &options);
  Words arguments = {"serve"};
  arguments.insert(arguments.end(), words.begin(), words.end());
  return ReadLlamaFlags(*serve, arguments);
}

// The arguments that the library parses, without the command; or the error.
Words ArgumentsOf(const Words& words) {
  const auto line = Read(words);
  if (!line) return {line.error().message};
  EXPECT_EQ(line->arguments.front(), "serve");
  return {line->arguments.begin() + 1, line->arguments.end()};
}

std::string ErrorOf(const Words& words) {
  const auto line = Read(words);
  return line ? "" : line.error().message;
}

// Parses what was read; the complaint, or nothing.
std::string Complaint(Words arguments) {
  CLI::App app;
  ServeOptions options;
  AddServe(&app, &options);
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::Success&) {  // the help was asked for
  } catch (const CLI::ParseError& error) {
    return error.what();
  }
  return "";
}

// A value that a flag takes.
std::string SampleOf(const LlamaFlag& flag, const std::string& rule) {
  static const std::map<std::string, std::string> kSamples = {{"--override-tensor", "exps=CPU"},
                                                              {"@tensor-split", "3,1"},
                                                              {"--fit-target", "1024"},
                                                              {"--gpu-layers", "all"},
                                                              {"--spec-draft-ngl", "auto"},
                                                              {"--logit-bias", "15043+1"},
                                                              {"--samplers", "top_k;temperature"},
                                                              {"@sampler-seq", "kt"},
                                                              {"@spec-type", "ngram-mod"},
                                                              {"@mmproj-device", "none"},
                                                              {"--cors-origin", "localhost"},
                                                              {"--api-prefix", "/llm"},
                                                              {"--slot-save-path", "."},
                                                              {"--media-path", "."},
                                                              {"--chat-template-kwargs", "{}"},
                                                              {"--reasoning-effort", "default"}};
  const auto known = kSamples.find(flag.here);
  if (known != kSamples.end()) return known->second;
  const size_t bar = rule.find('|');
  if (bar != std::string::npos) {
    return rule.substr(bar + 1, rule.find('|', bar + 1) - bar - 1);  // the second word
  }
  if (rule == "N") return "2";
  return rule == "F" ? "0.5" : "x";
}

// Whether what was read of a spelling is what the table says.
void ExpectFate(const std::string& spelling, const LlamaFlagTable::Found& found,
                const Result<LlamaLine>& line) {
  const LlamaFate fate = found.flag->fate;
  if (fate == LlamaFate::kRefused && !found.negates) {
    ASSERT_FALSE(line.has_value()) << spelling;
    EXPECT_TRUE(line.error().message.starts_with(spelling + " is refused: "));
    return;
  }
  ASSERT_TRUE(line.has_value()) << spelling << ": " << line.error().message;
  const bool always = found.negates ? fate == LlamaFate::kRefused : fate == LlamaFate::kAlways;
  if (found.flag->works()) {
    const bool has_effect = line->arguments.size() > 1 || !line->instead.empty() ||
                            line->notes.always == Words{spelling};
    EXPECT_TRUE(has_effect) << spelling;
  } else if (always) {
    EXPECT_EQ(line->notes.always, Words{spelling});
    EXPECT_EQ(line->arguments, Words{"serve"});
  } else {
    ASSERT_EQ(line->notes.lines.size(), 1u) << spelling;
    EXPECT_TRUE(line->notes.lines[0].starts_with(spelling + " has no effect: "));
    EXPECT_EQ(line->arguments, Words{"serve"});
  }
}

TEST(LlamaCommandLine, ReadsEverySpellingOfLlamaServersHelpAsTheTableSays) {
  std::istringstream lines(ReadSourceFile("testdata/llama_server_flags.txt"));
  for (std::string text; std::getline(lines, text);) {
    if (text.starts_with('#')) continue;
    const std::string spelling = text.substr(0, text.find(' '));
    const LlamaFlagTable::Found found = OwnLlamaFlags().Find(spelling);
    ASSERT_NE(found.flag, nullptr) << spelling;
    Words words = {spelling};
    for (const std::string& rule : found.flag->values) words.push_back(SampleOf(*found.flag, rule));
    const auto line = Read(words);
    ExpectFate(spelling, found, line);
    if (line) {
      EXPECT_EQ(Complaint(line->arguments), "") << spelling;
    }
  }
}

TEST(LlamaCommandLine, ReadsNoFlagAsAnotherOne) {
  EXPECT_EQ(ArgumentsOf({"-cb", "-to", "600", "-c", "4096"}), (Words{"--ctx-size=4096"}));
  EXPECT_EQ(ArgumentsOf({"-sps", "0.5", "-s", "7"}), (Words{"--seed=7"}));
  EXPECT_EQ(ErrorOf({"-port", "80"}), "there is no flag -port; did you mean --port?");
  EXPECT_EQ(ErrorOf({"-models-dir=x"}), "there is no flag -models-dir; did you mean --models-dir?");
}

TEST(LlamaCommandLine, LeavesAFlagItsValuesWhateverTheyLookLike) {
  EXPECT_EQ(ArgumentsOf({"--cache-dir", "-fa", "--alias", "--jinja"}),
            (Words{"--cache-dir", "-fa", "--alias=--jinja"}));
  EXPECT_EQ(ArgumentsOf({"-c4096", "--cache-dir=x", "file.gguf"}),
            (Words{"-c4096", "--cache-dir=x", "file.gguf"}));
  EXPECT_EQ(ArgumentsOf({"--n-predict", "-1"}), (Words{"--predict=-1"}));
}

TEST(LlamaCommandLine, TakesAValueBehindAnEqualsSign) {
  EXPECT_EQ(ArgumentsOf({"-ngl=99", "--no-mmap", "--kv-offload=false"}),
            (Words{"--gpu-layers=99", "--mmap=false", "--kv-offload=false"}));
  EXPECT_EQ(ErrorOf({"--jinja=perhaps"}),
            "--jinja takes no value, or true or false, not 'perhaps'");
}

TEST(LlamaCommandLine, ReadsUnderscoresInANameAsDashes) {
  EXPECT_EQ(ArgumentsOf({"--ctx_size", "4096", "--n_gpu-layers=9", "--cont_batching"}),
            (Words{"--ctx-size=4096", "--gpu-layers=9"}));
  EXPECT_EQ(ArgumentsOf({"--cache_dir", "a_b", "--cache_dir=a_b", "--alias", "--a_b"}),
            (Words{"--cache-dir", "a_b", "--cache-dir=a_b", "--alias=--a_b"}));
}

TEST(LlamaCommandLine, TurnsFlashAttentionOnWithoutAValue) {
  EXPECT_EQ(ArgumentsOf({"-fa"}), (Words{"--flash-attn=on"}));
  EXPECT_EQ(ArgumentsOf({"-fa", "--mlock"}), (Words{"--flash-attn=on", "--mlock"}));
  EXPECT_EQ(ArgumentsOf({"-fa", "off"}), (Words{"--flash-attn=off"}));
}

TEST(LlamaCommandLine, NamesAFlagWithoutItsValue) {
  EXPECT_EQ(ErrorOf({"-m"}), "-m needs a value behind it");
  EXPECT_EQ(ErrorOf({"--control-vector-layer-range", "1"}),
            "--control-vector-layer-range needs 2 values behind it");
}

TEST(LlamaCommandLine, NamesBothFlagsOfAContradiction) {
  const auto both = [](const Words& words, const std::string& one, const std::string& other) {
    EXPECT_EQ(ErrorOf(words), one + " and " + other + " contradict one another; give one of them");
  };
  both({"--mmap", "--no-mmap"}, "--mmap", "--no-mmap");
  both({"--jinja", "--no-jinja"}, "--jinja", "--no-jinja");
  both({"-lm", "mmap", "--no-mmap"}, "-lm", "--no-mmap");
  both({"--chat-template", "chatml", "--chat-template-file", "f"}, "--chat-template",
       "--chat-template-file");
  both({"-cmoe", "-ncmoe", "3"}, "-cmoe", "-ncmoe");
  both({"-rea", "off", "--reasoning-effort", "high"}, "-rea off", "--reasoning-effort high");
  both({"--log-disable", "-v"}, "--log-disable", "-v");
  EXPECT_EQ(ErrorOf({"--no-mmap", "-lm", "mlock", "--jinja", "--jinja"}), "");
  EXPECT_EQ(ErrorOf({"-rea", "off", "--reasoning-effort", "none"}), "");
}

TEST(LlamaCommandLine, LetsOtherFlagsOverrideTheModelsByName) {
  const Words arguments = ArgumentsOf({"--fim-qwen-7b-default", "--port", "9", "-c", "4096"});
  const auto has = [&](const std::string& word) {
    return std::find(arguments.begin(), arguments.end(), word) != arguments.end();
  };
  EXPECT_TRUE(has("--hf-repo=ggml-org/Qwen2.5-Coder-7B-Q8_0-GGUF"));
  EXPECT_TRUE(has("--port=9"));
  EXPECT_FALSE(has("--port=8012"));
  EXPECT_TRUE(has("--ctx-size=4096"));
  EXPECT_FALSE(has("--ctx-size=0"));
}

TEST(LlamaCommandLine, SizesTheContextByThatOfASlot) {
  EXPECT_EQ(ArgumentsOf({"--kv-unified-per-slot", "1000"}), (Words{"--ctx-size=4000"}));
  EXPECT_EQ(ArgumentsOf({"--kv-unified-per-slot", "1000", "-np", "2"}),
            (Words{"--parallel=2", "--ctx-size=2000"}));
  EXPECT_EQ(ArgumentsOf({"-c", "512", "--kv-unified-per-slot", "1000"}), (Words{"--ctx-size=512"}));
}

TEST(LlamaCommandLine, SaysWhatIsAskedForInsteadOfServing) {
  EXPECT_EQ(Read({"--list-devices"})->instead, "list-devices");
  EXPECT_EQ(Read({"-cl"})->instead, "cache-list");
  EXPECT_EQ(Read({"--version"})->instead, "version");
  EXPECT_EQ(Read({"--jinja"})->instead, "");
}

TEST(LlamaCommandLine, NotesAFlagOnce) {
  const auto line = Read({"--jinja", "--jinja", "--metrics", "--poll", "50", "--poll", "50"});
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->notes.always, (Words{"--jinja", "--metrics"}));
  EXPECT_EQ(line->notes.lines.size(), 1u);
}

TEST(LlamaCommandLine, LeavesOtherCommandsAlone) {
  CLI::App app;
  ServeOptions options;
  const CLI::App* const serve = AddServe(&app, &options);
  EXPECT_EQ(ReadLlamaFlags(*serve, {"top", "--once"})->arguments, (Words{"top", "--once"}));
  EXPECT_EQ(ReadLlamaFlags(*serve, {})->arguments, Words());
  EXPECT_EQ(ReadLlamaFlags(*serve, {"model", "check", "-ngl", "9"})->arguments,
            (Words{"model", "check", "--gpu-layers", "9"}));
}

TEST(LlamaCommandLine, GivesFlagsThatChangeAnswersTheirMeaning) {
  const ServeOptions options = test::ParsedFlags(
      "-m m -rea on --reasoning-format none --reasoning-preserve --special --no-cache-prompt "
      "--override-kv a=int:1,b=bool:true -r END -s -1 --skip-chat-parsing -dev none");
  EXPECT_EQ(options.llama.devices, (Words{"none"}));
  EXPECT_EQ(options.reasoning, "on");
  EXPECT_EQ(options.reasoning_format, "none");
  EXPECT_EQ(options.reasoning_preserve, true);
  EXPECT_TRUE(options.defaults.shows_control);
  EXPECT_FALSE(options.defaults.reuse);
  EXPECT_EQ(options.llama.kv_overrides, (Words{"a=int:1", "b=bool:true"}));
  EXPECT_EQ(options.defaults.stop_texts, (Words{"END"}));
  EXPECT_EQ(options.defaults.sampling.seed, 0xFFFFFFFFU);
  EXPECT_TRUE(options.skip_chat_parsing);
}

}  // namespace
}  // namespace cairn
