#include "cmd/model_codecs.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "api/json.h"
#include "base/clock.h"
#include "base/read_file.h"
#include "cmd/codec_figures.h"
#include "cmd/progress_line.h"
#include "engine/llama_engine.h"
#include "store/codec.h"

namespace cairn {
namespace {

double Share(const CodedObject& object) {
  return static_cast<double>(object.stored_bytes) / static_cast<double>(object.raw_bytes);
}

// Long enough for any number of tokens that is asked for.
std::string OwnText(size_t tokens) {
  std::string text;
  for (size_t stone = 2; text.size() < 8 * tokens; ++stone) {
    text += "Stone " + std::to_string(stone) + " lies on stone " + std::to_string(stone - 1) +
            " and marks the way back. ";
  }
  return text;
}

void PrintObjects(const CodecTrialResult& result) {
  std::printf("| codec | object | raw bytes | stored | share | encode MiB/s | decode MiB/s |\n");
  std::printf("| --- | --- | ---: | ---: | ---: | ---: | ---: |\n");
  for (const CodecFigures& figures : result.codecs) {
    const std::string name(CodecName(figures.codec));
    for (const CodedObject& object : figures.objects) {
      const std::string used =
          object.used == figures.codec ? "" : " (" + std::string(CodecName(object.used)) + ")";
      std::printf("| %s%s | %s | %zu | %zu | %.1f %% | %.0f | %.0f |\n", name.c_str(), used.c_str(),
                  object.kind.c_str(), object.raw_bytes, object.stored_bytes, 100 * Share(object),
                  object.encode_mib_s, object.decode_mib_s);
    }
  }
}

void PrintDrift(const CodecTrialResult& result) {
  std::printf("| codec | max \\|delta logit\\| | mean KL | max KL | flips |\n");
  std::printf("| --- | ---: | ---: | ---: | ---: |\n");
  for (const CodecFigures& figures : result.codecs) {
    const LogitDrift& drift = figures.drift;
    std::printf("| %s | %.2g | %.2g | %.2g | %zu of %zu |\n",
                std::string(CodecName(figures.codec)).c_str(), drift.delta_max, drift.kl_mean,
                drift.kl_max, drift.flips, drift.tokens);
  }
}

void PrintText(const ModelInfo& info, const MemoryTraits& traits, const CodecTrialResult& result) {
  std::printf("%s (%s), %s memory, interrupted at %zu tokens\n\n", info.path.c_str(),
              info.architecture.c_str(), std::string(MemoryClassName(traits.memory_class)).c_str(),
              result.position);
  if (!result.floats_proven) std::printf("%s\n\n", result.why_not.c_str());
  PrintObjects(result);
  std::printf("\n");
  PrintDrift(result);
}

Json CodecJson(const CodecFigures& figures) {
  Json objects = Json::array();
  for (const CodedObject& object : figures.objects) {
    objects.push_back({{"kind", object.kind},
                       {"used", CodecName(object.used)},
                       {"raw_bytes", object.raw_bytes},
                       {"stored_bytes", object.stored_bytes},
                       {"encode_mib_s", object.encode_mib_s},
                       {"decode_mib_s", object.decode_mib_s}});
  }
  const LogitDrift& drift = figures.drift;
  return {{"codec", CodecName(figures.codec)},
          {"objects", objects},
          {"tokens", drift.tokens},
          {"flips", drift.flips},
          {"logit_delta_max", drift.delta_max},
          {"kl_mean", drift.kl_mean},
          {"kl_max", drift.kl_max}};
}

void PrintJson(const ModelInfo& info, const MemoryTraits& traits, const CodecTrialResult& result) {
  Json json = {{"path", info.path},
               {"architecture", info.architecture},
               {"memory_class", MemoryClassName(traits.memory_class)},
               {"position", result.position},
               {"floats_proven", result.floats_proven},
               {"codecs", Json::array()}};
  for (const CodecFigures& figures : result.codecs) json["codecs"].push_back(CodecJson(figures));
  std::printf("%s\n", json.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

int Complain(const std::string& message) {
  std::fprintf(stderr, "cairn model codecs: %s\n", message.c_str());
  return 1;
}

}  // namespace

CLI::App* AddModelCodecs(CLI::App* model, ModelCodecsOptions* options) {
  CLI::App* codecs = model->add_subcommand(
      "codecs", "Load a model and measure what each codec makes of its states");
  LlamaOptions& llama = options->llama;
  const CLI::Validator& positive = CLI::PositiveNumber;
  codecs->add_option("file", llama.model_path, "The GGUF file; of a split model, its first part")
      ->required();
  codecs->add_option("--prompt", options->prompt_path, "A file whose text is read first");
  codecs
      ->add_option("--prompt-tokens", options->prompt_tokens,
                   "How much of it at most, before the conversation is interrupted")
      ->check(positive)
      ->capture_default_str();
  codecs->add_option("--tokens", options->tokens, "Tokens decoded afterwards and compared")
      ->check(positive)
      ->capture_default_str();
  codecs->add_option("--ubatch-size", llama.ubatch_tokens, "Tokens of one micro-batch (-ub)")
      ->check(positive)
      ->capture_default_str();
  codecs->add_option("-t,--threads", llama.threads, "Threads (negative: one a core)")
      ->capture_default_str();
  codecs->add_option("--gpu-layers,--ngl", llama.gpu_layers,
                     "Layers to keep on the GPU (-ngl; negative: all)");
  codecs->add_flag("--json", options->json, "Print one JSON object");
  return codecs;
}

int RunModelCodecs(const ModelCodecsOptions& options) {
  CodecTrial trial;
  trial.prompt_tokens_max = options.prompt_tokens;
  trial.tokens = options.tokens;
  trial.prompt = OwnText(options.prompt_tokens);
  if (!options.prompt_path.empty()) {
    auto text = ReadFile(options.prompt_path);
    if (!text) return Complain("the prompt: " + text.error().message);
    trial.prompt = std::move(*text);
  }
  LlamaOptions llama = options.llama;
  llama.context_tokens = options.prompt_tokens + options.tokens + kUsualGridTokens;
  llama.grid_tokens = kUsualGridTokens;
  std::optional<ProgressLine> line(std::in_place, "Loading " + llama.model_path);
  llama.progress = [&line](float share) { line->Update(share); };
  const auto engine = LlamaEngine::Load(llama);
  line.reset();
  if (!engine) return Complain(engine.error().message);
  line.emplace("Decoding with each codec");
  trial.progress = [&line](float share) { line->Update(share); };
  const auto result = TryCodecs(engine->get(), trial, SteadyClock());
  line.reset();
  if (!result) return Complain(result.error().message);
  const ModelInfo& info = (*engine)->info();
  const MemoryTraits& traits = (*engine)->traits();
  options.json ? PrintJson(info, traits, *result) : PrintText(info, traits, *result);
  return 0;
}

}  // namespace cairn
