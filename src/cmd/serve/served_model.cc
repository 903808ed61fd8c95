#include "cmd/serve/served_model.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/fs.h"
#include "base/text.h"
#include "chat/template/builtin_templates.h"
#include "chat/template/template_source.h"
#include "cmd/serve/base/cache_flags.h"
#include "engine/embed/embedding_architectures.h"
#include "engine/llama/backend/cpu_kernels.h"
#include "engine/llama/backend/llama_backend.h"
#include "engine/llama/llama_infill.h"

namespace cairn {
namespace {

Result<std::string> ReadTemplateFile(const std::string& path) {
  auto text = ReadFile(path);
  if (!text) return Fail(text.error().code, "--chat-template-file " + text.error().message);
  return text;
}

bool ChoosesTemplate(const ServeOptions& options) {
  return !options.chat_template.empty() || !options.chat_template_file.empty();
}

bool IsTemplateText(const std::string& text) {
  return text.find('{') != std::string::npos;
}

// libllama has a name in place of a text for some models whose file has no template.
std::string OwnTemplate(const ModelInfo& info) {
  const auto named = BuiltinTemplate(info.chat_template);
  return named ? std::string(*named) : info.chat_template;
}

// The text of the chat template of the flags, or else of the model.
Result<std::string> TemplateSource(const ServeOptions& options, const ModelInfo& info) {
  if (!options.chat_template_file.empty()) return ReadTemplateFile(options.chat_template_file);
  if (IsTemplateText(options.chat_template)) return options.chat_template;
  if (options.chat_template.empty() && !info.chat_template.empty()) {
    return info.tool_template.empty() ? OwnTemplate(info)
                                      : WithToolTemplate(OwnTemplate(info), info.tool_template);
  }
  const auto builtin = BuiltinTemplate(
      options.chat_template.empty() ? kDefaultTemplate : std::string_view(options.chat_template));
  if (!builtin) return tl::unexpected(builtin.error());
  return std::string(*builtin);
}

// llama-server's name for the pooling of reranker models.
constexpr const char* kRankPooling = "rank";

bool Ranks(const ServeOptions& options) {
  return options.reranking || options.pooling == kRankPooling;
}

Status CheckWithoutAnswers(const ServeOptions& options) {
  const auto refuse = [](const std::string& flag) {
    return Fail(ErrorCode::kInvalidArgument,
                flag +
                    " cannot be used with this model, which computes vectors or scores of texts "
                    "and writes no answers; leave it out");
  };
  if (!options.draft_model_path.empty()) return refuse("--model-draft");
  if (!options.media.mmproj_path.empty()) return refuse("--mmproj");
  if (options.sleep_idle_s >= 0) return refuse("--sleep-idle-seconds");
  return {};
}

}  // namespace

size_t SlotsOf(const ServeOptions& options) {
  if (options.slots > 0) return static_cast<size_t>(options.slots);
  return options.reuse == "exact" ? 1 : kUsualSlots;
}

bool UnifiedOf(const ServeOptions& options) {
  if (options.kv_unified) return *options.kv_unified;
  return options.reuse != "exact" && options.slots <= 1;
}

Result<std::unique_ptr<const AnswerScript>> ReadScript(const std::string& path) {
  if (path.empty()) return nullptr;
  const auto text = ReadFile(path);
  if (!text) return Fail(text.error().code, "--script " + text.error().message);
  auto script = AnswerScript::Parse(*text);
  if (!script) return Fail(script.error().code, "--script " + path + ": " + script.error().message);
  return script;
}

Result<std::unique_ptr<ChatTemplate>> LoadTemplate(const ServeOptions& options,
                                                   const ModelInfo& info, const LogSink& log) {
  auto source = TemplateSource(options, info);
  if (!source) return tl::unexpected(source.error());
  auto parsed = ChatTemplate::Parse(*source, info.bos_text, info.eos_text);
  if (!parsed && !ChoosesTemplate(options) && !info.tool_template.empty()) {
    if (log) {
      log(LogLevel::kWarning, "one of the model's two templates is of no use: " +
                                  parsed.error().message + "; the usual one serves tools too");
    }
    source = OwnTemplate(info);
    parsed = ChatTemplate::Parse(*source, info.bos_text, info.eos_text);
  }
  if (parsed) return parsed;
  const std::string& why = parsed.error().message;
  if (ChoosesTemplate(options)) {
    return Fail(parsed.error().code, why + "; give another one with --chat-template");
  }
  if (log) {
    log(LogLevel::kWarning, "the model's own template is of no use: " + why +
                                "; requests with messages are refused until another one is given "
                                "with --chat-template");
  }
  return ChatTemplate::Unreadable(*std::move(source),
                                  why + "; the server needs another one, from --chat-template");
}

Status ServeTextsAlone(const LlamaEngine& engine, ServeOptions* options) {
  if (!IsEncoder(engine.info().architecture)) return {};
  if (Status fits = CheckWithoutAnswers(*options); !fits) return fits;
  options->cache_disk_gib = 0;
  options->slot_save_path.clear();
  options->warm = false;
  if (options->embeddings || Ranks(*options)) return {};
  const bool ranks = options->pooling.empty() && LlamaReranker::IsMadeFor(engine);
  (ranks ? options->reranking : options->embeddings) = true;
  return {};
}

Status ServeTexts(const ServeOptions& options, const LlamaOptions& llama, const LlamaEngine& engine,
                  TextModels* models, Served* served) {
  served->infill.tokens = FindInfillTokens(engine);
  served->infill.batch_tokens = std::max<size_t>(llama.batch_tokens, 4);
  served->infill.suffix_first = options.spm_infill;
  const bool ranks = Ranks(options);
  if (ranks) {
    auto reranker = LlamaReranker::Make(engine, llama);
    if (!reranker) return tl::unexpected(reranker.error());
    models->reranker = std::move(*reranker);
    models->rerank = std::make_unique<const Rerank>(&engine, models->reranker.get());
    served->rerank = models->rerank.get();
  }
  if (!options.embeddings || options.pooling == kRankPooling) return {};
  // llama-server's --embeddings is a part of its --reranking.
  if (ranks && options.pooling.empty() && LlamaReranker::IsMadeFor(engine)) return {};
  auto embedder = LlamaEmbedder::Make(engine, llama, options.pooling);
  if (!embedder) return tl::unexpected(embedder.error());
  models->embedder = std::move(*embedder);
  served->embedder = models->embedder.get();
  return {};
}

void ChooseKernels(const ServerLog& logger, const ServeOptions& options) {
  if (options.reuse != "exact") return;
  InitLlamaBackend(logger.sink());
  const auto choice = UseKernelsThatKeepBits();
  if (!choice) {
    logger->warn("{}: with --reuse exact, answers may differ from a cold run in the last digits",
                 choice.error().message);
  } else if (!choice->left.empty()) {
    logger->info(
        "--reuse exact: computes with {}; the sums of {} (AMX) depend on what else is in a batch",
        choice->used, choice->left);
  }
}

void LogModelFacts(const ServerLog& logger, const Engine& engine, const ServeOptions& options,
                   const std::string& reuse, const Tokens& message_starts) {
  const MemoryTraits& traits = engine.traits();
  if (IsEncoder(engine.info().architecture)) {
    logger->info("{}, {} of texts of up to {} tokens; it writes no answers",
                 engine.info().description, options.embeddings ? "vectors" : "scores",
                 engine.context_tokens());
    return;
  }
  if (!traits.shifts && (options.cache_reuse > 0 || options.context_shift)) {
    logger->warn(
        "this model's memory cannot be moved: --cache-reuse and --context-shift have no effect");
  }
  logger->info("{}, {} memory, {} KiB per snapshot, {} bytes of KV per token",
               engine.info().description, MemoryClassName(traits.memory_class),
               (traits.snapshot_bytes + 1023) / 1024, traits.kv_bytes_per_token);
  logger->info("{} slots of up to {} tokens, {} in total{}", engine.slots(),
               engine.context_tokens(), engine.cells(),
               traits.one_buffer ? "" : ", a KV stream for each");
  const bool trusted = !traits.grid_measured && options.reuse == "exact";
  logger->log(trusted ? spdlog::level::warn : spdlog::level::info,
              "exactness grid {} tokens ({}), placement {}, eviction {}, reuse {}",
              traits.grid_tokens, traits.grid_measured ? "measured" : "assumed, not measured",
              PlacementNames(options), options.eviction, reuse);
  if (message_starts.empty()) return;
  std::string texts;
  for (const Token token : message_starts) texts += " " + engine.Piece(token, true);
  logger->info("prompts are cut at the beginning of each message, behind{}", texts);
}

void LogCacheBudget(const ServerLog& logger, const ServeOptions& options, const DiskCache& disk) {
  if (!StoresCheckpoints(options)) {
    logger->info("no prefix cache: --cache-ram or --ctx-checkpoints is 0");
    return;
  }
  const size_t ram_bytes = CacheRamBytes(options);
  std::string line =
      "prefix cache: " + (ram_bytes == SIZE_MAX ? std::string("memory without a limit")
                                                : GibText(ram_bytes) + " GiB of memory");
  if (disk.store != nullptr) {
    line +=
        ", " + GibText(disk.store->stats().bytes_max) + " GiB of disk in " + CacheFolderOf(options);
  }
  logger->info("{}", line);
}

}  // namespace cairn
