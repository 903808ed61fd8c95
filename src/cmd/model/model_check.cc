#include "cmd/model/model_check.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "api/memory_json.h"
#include "cmd/lib/progress_line.h"
#include "engine/llama/llama_engine.h"

namespace cairn {
namespace {

// Room for the longest prompt of the grid probe.
constexpr size_t kContextTokens = 4096;
constexpr double kProbeMsMax = 600'000;

std::string Count(uint64_t number, std::string_view unit) {
  return std::to_string(number) + " " + std::string(unit) + (number == 1 ? "" : "s");
}

std::string SegmentsWord(const ModelInfo& info, const MemoryTraits& traits) {
  if (traits.segments) return "yes";
  if (traits.kv_bytes_per_token == 0) return "no: there is no attention KV";
  return "no: " + info.architecture + " is not in the table of verified architectures";
}

std::string Grid(const MemoryTraits& traits) {
  if (!traits.restores_bits) return "none: a restored state gives other logits on this device";
  if (traits.grid_tokens == 0) return "none found: every split changes the logits";
  return Count(traits.grid_tokens, "token") +
         (traits.grid_measured ? ", measured" : ", assumed: not measured in time");
}

void PrintLine(std::string_view name, const std::string& value) {
  std::printf("%-18.*s %s\n", static_cast<int>(name.size()), name.data(), value.c_str());
}

void PrintText(const ModelInfo& info, const MemoryTraits& traits) {
  PrintLine("file", info.path);
  PrintLine("architecture", info.architecture);
  PrintLine("description", info.description);
  PrintLine("parameters", std::to_string(info.parameters));
  PrintLine("size", Count(info.size_bytes, "byte"));
  PrintLine("vocabulary", Count(info.vocab_size, "token"));
  PrintLine("trained context", Count(info.train_context_tokens, "token"));
  PrintLine("chat template", info.chat_template.empty() ? "no" : "yes");
  PrintLine("memory", std::string(MemoryClassName(traits.memory_class)));
  PrintLine("snapshot", traits.NeedsSnapshots() ? Count(traits.snapshot_bytes, "byte")
                                                : "not needed: the KV cache can be cut anywhere");
  PrintLine("KV per token", Count(traits.kv_bytes_per_token, "byte"));
  PrintLine("window", traits.window_tokens > 0 ? Count(traits.window_tokens, "token") : "none");
  PrintLine("grid", Grid(traits));
  PrintLine("segments", SegmentsWord(info, traits));
}

void PrintJson(const ModelInfo& info, const MemoryTraits& traits) {
  Json json = {
      {"path", info.path},
      {"architecture", info.architecture},
      {"description", info.description},
      {"parameters", info.parameters},
      {"size_bytes", info.size_bytes},
      {"vocab_size", info.vocab_size},
      {"train_context_tokens", info.train_context_tokens},
      {"has_chat_template", !info.chat_template.empty()},
  };
  json.update(MemoryJson(traits));
  // Strings in a file may have any bytes; invalid UTF-8 is replaced instead of throwing.
  const std::string text = ToText(json, 2);
  std::printf("%s\n", text.c_str());
}

}  // namespace

ModelCheckOptions::ModelCheckOptions() {
  llama.context_tokens = kContextTokens;
  llama.grid_probe_ms_max = kProbeMsMax;
  llama.find_smallest_grid = true;
}

CLI::App* AddModelCheck(CLI::App* model, ModelCheckOptions* options) {
  CLI::App* check = model->add_subcommand(
      "check", "Load a model and report its memory class and its exactness grid");
  LlamaOptions& llama = options->llama;
  const CLI::Validator& positive = CLI::PositiveNumber;
  check->add_option("file", llama.model_path, "GGUF file; for a split model, its first part")
      ->required();
  check->add_flag("--json", options->json, "Print the result as one JSON object");
  check->add_option("-c,--ctx-size", llama.context_tokens, "Context size in tokens")
      ->check(positive)
      ->capture_default_str();
  check
      ->add_option("--ubatch-size", llama.ubatch_tokens,
                   "Maximum micro-batch (ubatch) size in tokens (-ub)")
      ->check(positive)
      ->capture_default_str();
  check->add_option("-t,--threads", llama.threads, "Number of threads (negative: one per core)")
      ->capture_default_str();
  check->add_option("--gpu-layers,--ngl", llama.gpu_layers,
                    "Number of layers to keep on the GPU (-ngl; negative: all)");
  check->add_option("--flash-attn", llama.flash_attention, "Flash attention (-fa): on, off, auto")
      ->capture_default_str();
  check->add_option("--cache-type-k", llama.cache_type_k, "Data type of K in the KV cache (-ctk)")
      ->capture_default_str();
  check->add_option("--cache-type-v", llama.cache_type_v, "Data type of V in the KV cache (-ctv)")
      ->capture_default_str();
  check->add_flag("--swa-full", llama.swa_full, "Keep the full history of sliding-window layers");
  check->add_flag("--verbose", options->verbose, "Show libllama's log");
  return check;
}

int RunModelCheck(const ModelCheckOptions& options) {
  LlamaOptions llama = options.llama;
  if (options.verbose) llama.log = PrintLogLine;
  std::optional<ProgressLine> line(std::in_place, "Loading " + llama.model_path);
  llama.progress = [&line](float share) { line->Update(share); };
  bool probing = false;
  llama.probe_progress = [&](float share) {
    if (!probing) line.emplace("Finding the grid");
    probing = true;
    line->Update(share);
  };
  const auto engine = LlamaEngine::Load(llama);
  line.reset();
  if (!engine) {
    std::fprintf(stderr, "cairn model check: %s\n", engine.error().message.c_str());
    return 1;
  }
  const ModelInfo& info = (*engine)->info();
  const MemoryTraits& traits = (*engine)->traits();
  options.json ? PrintJson(info, traits) : PrintText(info, traits);
  return 0;
}

}  // namespace cairn
