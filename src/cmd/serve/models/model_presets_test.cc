#include "cmd/serve/models/model_presets.h"
#include "cmd/serve/serve.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <algorithm>

namespace cairn {
namespace {

const std::vector<FoundModel> kFound = {{"gemma", "/m/gemma.gguf", ""},
                                        {"qwen", "/m/qwen.gguf", "/m/mmproj.gguf"}};

Result<PresetModels> Make(std::string_view preset, const std::vector<GivenFlag>& given = {},
                          const std::vector<FoundModel>& found = kFound) {
  return MakeModels(found, preset, given, ServeOptions());
}

// Returns the arguments of a model in one line, or the error.
std::string ArgumentsOf(const Result<PresetModels>& made, const std::string& name) {
  if (!made) return made.error().message;
  for (const ModelEntry& model : made->models) {
    if (model.name != name) continue;
    std::string line;
    for (const std::string& argument : model.arguments) {
      line += (line.empty() ? "" : " ") + argument;
    }
    return line;
  }
  return "there is no " + name;
}

ModelEntry EntryOf(const Result<PresetModels>& made, const std::string& name) {
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().message);
  if (!made) return {};
  const auto found = std::find_if(made->models.begin(), made->models.end(),
                                  [&](const ModelEntry& one) { return one.name == name; });
  EXPECT_NE(found, made->models.end());
  return found == made->models.end() ? ModelEntry() : *found;
}

TEST(ModelPresets, ServeTheFolderWithoutAPreset) {
  const auto made = Make("");
  EXPECT_EQ(ArgumentsOf(made, "gemma"), "serve --alias=gemma --model=/m/gemma.gguf");
  EXPECT_EQ(ArgumentsOf(made, "qwen"),
            "serve --alias=qwen --mmproj=/m/mmproj.gguf --model=/m/qwen.gguf");
  EXPECT_EQ(EntryOf(made, "qwen").source, "models_dir");
  EXPECT_EQ(EntryOf(made, "qwen").preset, "");
}

TEST(ModelPresets, LetTheModelsSectionOverrideThatOfAllModels) {
  const auto made = Make("version = 1\n[*]\nctx-size = 4096\ntemp = 0.5\n[qwen]\nc = 8192\n");
  EXPECT_EQ(ArgumentsOf(made, "gemma"),
            "serve --alias=gemma --ctx-size=4096 --model=/m/gemma.gguf --temp=0.5");
  EXPECT_EQ(ArgumentsOf(made, "qwen"),
            "serve --alias=qwen --ctx-size=8192 --mmproj=/m/mmproj.gguf --model=/m/qwen.gguf "
            "--temp=0.5");
  EXPECT_EQ(EntryOf(made, "qwen").source, "preset");
  EXPECT_EQ(EntryOf(made, "qwen").preset, "[qwen]\nc = 8192\n");
}

TEST(ModelPresets, LetTheCommandLineOverridePresets) {
  const auto made = Make("[*]\nctx-size = 4096\n[qwen]\nthreads = 2\n",
                         {{"--ctx-size", {"1024"}}, {"--port", {"80"}}, {"--models-max", {"2"}}});
  EXPECT_EQ(ArgumentsOf(made, "gemma"),
            "serve --alias=gemma --ctx-size=1024 --model=/m/gemma.gguf");
}

TEST(ModelPresets, AddModelsThatOnlyThePresetHas) {
  const auto made = Make("[big]\nmodel = /other/big.gguf\n", {}, {});
  EXPECT_EQ(ArgumentsOf(made, "big"), "serve --alias=big --model=/other/big.gguf");
  EXPECT_EQ(ArgumentsOf(Make("[big]\nctx-size = 5\n"), "big"),
            "section [big]: it names no model; it needs 'model' (a GGUF file), 'hf-repo' or "
            "'model-url'");
}

TEST(ModelPresets, TakeEveryFormOfAFlagsName) {
  EXPECT_EQ(ArgumentsOf(Make("[a]\nm = /a.gguf\nngl = 5\nLLAMA_ARG_CTX_SIZE = 64\nfa = on\n"
                             "no-mmap = true\nwarm = false\nno-repack = off\n",
                             {}, {}),
                        "a"),
            "serve --alias=a --ctx-size=64 --flash-attn=on --gpu-layers=5 --mmap=false "
            "--model=/a.gguf --repack=true --warm=false");
}

TEST(ModelPresets, ReadTheKeysOfTheRouter) {
  const ModelEntry entry = EntryOf(
      Make("[qwen]\nalias = claude, gpt\ntags = code\npin = true\nttl = 60\nstop-timeout = 5\n"
           "load-on-startup = 1\ndedup-cache-models = 1\n"),
      "qwen");
  EXPECT_EQ(entry.aliases, (std::vector<std::string>{"claude", "gpt"}));
  EXPECT_EQ(entry.tags, (std::vector<std::string>{"code"}));
  EXPECT_TRUE(entry.pinned);
  EXPECT_TRUE(entry.load_on_startup);
  EXPECT_EQ(entry.idle_s_max, 60);
  EXPECT_EQ(entry.stop_timeout_s, 5);
  const ModelEntry other = EntryOf(Make(""), "gemma");
  EXPECT_FALSE(other.pinned);
  EXPECT_LT(other.idle_s_max, 0);
}

TEST(ModelPresets, NameWhatIsWrong) {
  EXPECT_EQ(Make("[qwen]\nnonsense = 1\n").error().message,
            "section [qwen]: there is no flag 'nonsense'");
  EXPECT_EQ(Make("[*]\nport = 1\n").error().message,
            "section [*]: 'port' is the router's, not a model's; give it as --port");
  EXPECT_EQ(Make("[*]\nmmap = maybe\n").error().message,
            "section [*]: 'mmap' must be true or false, not 'maybe'");
  EXPECT_EQ(Make("[*]\ndedup-cache-models = 7\n").error().message,
            "section [*]: 'dedup-cache-models' must be true or false, not '7'");
  EXPECT_EQ(Make("[qwen]\nttl = soon\n").error().message,
            "section [qwen]: 'ttl' must be a number of seconds, not 'soon'");
  EXPECT_NE(Make("[qwen]\nctx-size = many\n").error().message.find("model 'qwen': "),
            std::string::npos);
  EXPECT_EQ(Make("ctx-size = 5\n[qwen]\n").error().message,
            "section [*]: 'ctx-size' stands before it");
  EXPECT_NE(Make("", {{"--mmproj", {"/p"}}}).error().message.find("--mmproj is for one model"),
            std::string::npos);
}

TEST(ModelPresets, RefuseNamesThatAreNotUnique) {
  EXPECT_EQ(Make("[qwen]\nalias = gemma\n").error().message,
            "section [qwen]: the alias 'gemma' is taken by 'gemma'");
  EXPECT_EQ(Make("[qwen]\nalias = x\n[gemma]\nalias = x\n").error().message,
            "section [qwen]: the alias 'x' is taken by 'gemma'");
}

TEST(ModelPresets, NameTheFlagThatAMistypedKeyMeant) {
  EXPECT_EQ(Make("[qwen]\nctx-szie = 4096\n").error().message,
            "section [qwen]: there is no flag 'ctx-szie'; did you mean ctx-size?");
}

TEST(ModelPresets, RefuseMoreModelsAtTheStartThanMayBeLoaded) {
  ServeOptions options;
  options.models.models_max = 1;
  const auto made = MakeModels(kFound, "[*]\nload-on-startup = true\n", {}, options);
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().message, "2 models have load-on-startup, more than --models-max 1");
}

TEST(ModelPresets, TakeKeysOfLlamaServerForWhatIsAlwaysSo) {
  const auto made = Make("[*]\njinja = true\nmetrics = on\n");
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->ignored, (std::vector<std::string>{"jinja", "metrics"}));
  EXPECT_TRUE(Make("[*]\njinja = false\nwarmup = false\nprio = 2\n").has_value());
}

TEST(ModelPresets, TakeAllKeysOfLlamaServer) {
  const auto made = Make("[qwen]\nload-mode = mlock\nfa = 1\nno-mmproj-offload = true\n");
  ASSERT_TRUE(made.has_value()) << made.error().message;
  std::string arguments;
  for (const ModelEntry& model : made->models) {
    if (model.name != "qwen") continue;
    for (const std::string& argument : model.arguments) arguments += argument + " ";
  }
  for (const char* flag :
       {"--mmap=false ", "--mlock=true ", "--flash-attn=on ", "--mmproj-offload=false "}) {
    EXPECT_NE(arguments.find(flag), std::string::npos) << arguments;
  }
}

TEST(ModelPresets, SayWhyAKeyOfLlamaServerIsRefused) {
  const auto made = Make("[qwen]\ntools = all\n");
  ASSERT_FALSE(made.has_value());
  EXPECT_TRUE(made.error().message.starts_with("section [qwen]: 'tools' is refused: "))
      << made.error().message;
}

TEST(ModelPresets, ListTheFlagsOfTheCommandLine) {
  CLI::App app;
  ServeOptions options;
  const CLI::App* serve = AddServe(&app, &options);
  std::vector<std::string> arguments = {
      "serve", "--models-dir",   "/m", "-c", "64", "--no-mmap", "--pin-volatile",
      "a",     "--pin-volatile", "b"};
  std::reverse(arguments.begin(), arguments.end());
  app.parse(arguments);
  std::string shown;
  for (const GivenFlag& one : GivenFlags(*serve)) {
    shown += one.flag;
    for (const std::string& value : one.values) shown += "=" + value;
    shown += " ";
  }
  EXPECT_NE(shown.find("--models-dir=/m "), std::string::npos) << shown;
  EXPECT_NE(shown.find("--ctx-size=64 "), std::string::npos) << shown;
  EXPECT_NE(shown.find("--mmap=false "), std::string::npos) << shown;
  EXPECT_NE(shown.find("--pin-volatile=a=b "), std::string::npos) << shown;
}

}  // namespace
}  // namespace cairn
