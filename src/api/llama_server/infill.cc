#include "api/llama_server/infill.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace cairn {
namespace {

// llama.vim sends about 16 chunks; each becomes a turn of the prompt's shape.
constexpr size_t kChunksMax = 1024;

// llama-server's defaults.
constexpr const char* kRepositoryName = "myproject\n";
constexpr const char* kFileName = "filename\n";
constexpr const char* kChunkName = "tmp";
constexpr const char* kChunkHeading = "\n\n--- snippet ---\n\n";  // without a separator token

struct InfillChunk {
  std::string name;
  std::string text;
};

struct InfillFields {
  std::string prefix;
  std::string suffix;
  std::string prompt;
  std::vector<InfillChunk> chunks;
};

std::string MissingTokens(const InfillTokens& tokens) {
  std::string missing;
  const auto add = [&](Token token, const char* name) {
    if (token < 0) missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
  add(tokens.prefix, "prefix");
  add(tokens.suffix, "suffix");
  add(tokens.middle, "middle");
  return missing;
}

void ReadChunks(FieldReader* fields, std::vector<InfillChunk>* chunks) {
  const Json* list = fields->Find("input_extra");
  if (list == nullptr) return;
  if (!list->is_array() || list->size() > kChunksMax) {
    return fields->Fail("input_extra",
                        "a list of at most " + std::to_string(kChunksMax) +
                            " objects with a string 'text' and, if known, a string 'filename'");
  }
  for (const Json& entry : *list) {
    const std::string place = "input_extra[" + std::to_string(chunks->size()) + "]";
    if (!entry.is_object() || !entry.contains("text") || !entry["text"].is_string()) {
      return fields->Fail(place + ".text", "a string");
    }
    const Json name = entry.value("filename", Json(kChunkName));
    if (!name.is_string()) return fields->Fail(place + ".filename", "a string");
    chunks->push_back({name.get<std::string>(), entry["text"].get<std::string>()});
  }
}

ApiResult<InfillFields> ReadFields(const Json& body) {
  InfillFields read;
  FieldReader fields(body, "");
  for (const char* name : {"input_prefix", "input_suffix"}) {
    if (fields.Find(name) == nullptr) fields.Fail(name, "a string");
  }
  fields.String("input_prefix", &read.prefix);
  fields.String("input_suffix", &read.suffix);
  fields.String("prompt", &read.prompt);
  ReadChunks(&fields, &read.chunks);
  if (fields.error()) return tl::unexpected(*fields.error());
  return read;
}

size_t InfillBytes(const InfillFields& fields) {
  size_t bytes = fields.prefix.size() + fields.suffix.size() + fields.prompt.size();
  for (const InfillChunk& chunk : fields.chunks) bytes += chunk.name.size() + chunk.text.size();
  return bytes;
}

void AppendTokens(const Tokens& more, Tokens* tokens) {
  tokens->insert(tokens->end(), more.begin(), more.end());
}

// Builds the layout of a prompt. Used once.
class Layout {
 public:
  Layout(const Engine& engine, const InfillOptions& options, const GenerationParams& defaults)
      : engine_(engine), tokens_(options.tokens), suffix_first_(options.suffix_first) {
    const size_t context = engine.context_tokens();
    // The answer needs room even if the context is hardly larger.
    batch_tokens_ = std::min(options.batch_tokens, context - context / 4);
    size_t taken = batch_tokens_;
    if (defaults.tokens_max <= context) taken += 2 * defaults.tokens_max;
    extra_tokens_max_ = context - std::min(context, taken);
  }

  Result<CompletionRequest> Write(const InfillFields& fields) {
    if (Status written = WriteChunks(fields.chunks); !written) {
      return tl::unexpected(written.error());
    }
    if (Status written = WriteGap(fields); !written) return tl::unexpected(written.error());
    CompletionRequest request;
    shape_.tokens = prompt_.size();
    request.prompt = std::move(prompt_);
    request.shape = std::move(shape_);
    return request;
  }

 private:
  Result<Tokens> Plain(const std::string& text) const {
    return engine_.Tokenize(text, false, false);
  }

  Result<Tokens> File(const std::string& name, const std::string& text) const {
    Tokens file;
    if (tokens_.separator >= 0) file.push_back(tokens_.separator);
    const auto heading = Plain(tokens_.separator >= 0 ? name : kChunkHeading);
    if (!heading) return heading;
    const auto content = Plain(text);
    if (!content) return content;
    AppendTokens(*heading, &file);
    AppendTokens(*content, &file);
    return file;
  }

  // Returns the newest chunks that fit, in order.
  Result<std::vector<Tokens>> NewestFiles(const std::vector<InfillChunk>& chunks,
                                          size_t room) const {
    std::vector<Tokens> files;
    for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk) {
      auto file = File(chunk->name + "\n", chunk->text);
      if (!file) return tl::unexpected(file.error());
      if (file->size() > room) break;
      room -= file->size();
      files.push_back(std::move(*file));
    }
    std::reverse(files.begin(), files.end());
    return files;
  }

  Status WriteChunks(const std::vector<InfillChunk>& chunks) {
    if (tokens_.repository >= 0) {
      const auto name = Plain(kRepositoryName);
      if (!name) return tl::unexpected(name.error());
      prompt_.push_back(tokens_.repository);
      AppendTokens(*name, &prompt_);
    }
    Tokens last;
    if (tokens_.separator >= 0) {
      auto file = File(kFileName, "");
      if (!file) return tl::unexpected(file.error());
      last = std::move(*file);
    }
    const size_t used = prompt_.size() + last.size();
    const auto files = NewestFiles(chunks, extra_tokens_max_ - std::min(extra_tokens_max_, used));
    if (!files) return tl::unexpected(files.error());
    for (const Tokens& file : *files) {
      AddTurn();
      AppendTokens(file, &prompt_);
    }
    AppendTokens(last, &prompt_);
    shape_.header_end = prompt_.size();
    return {};
  }

  Status WriteGap(const InfillFields& fields) {
    auto prefix = Plain(fields.prefix);
    if (!prefix) return tl::unexpected(prefix.error());
    auto suffix = Plain(fields.suffix);
    if (!suffix) return tl::unexpected(suffix.error());
    const auto prompt = engine_.Tokenize(fields.prompt, false, true);
    if (!prompt) return tl::unexpected(prompt.error());
    const size_t quarter = batch_tokens_ / 4;
    const size_t around = prompt->size() + 2;
    prefix->erase(prefix->begin(),
                  prefix->end() - static_cast<ptrdiff_t>(std::min(prefix->size(), 3 * quarter)));
    suffix->resize(std::min(suffix->size(), quarter - std::min(quarter, around)));
    prefix->insert(prefix->begin(), tokens_.prefix);
    AppendTokens(*prompt, &*prefix);
    suffix->insert(suffix->begin(), tokens_.suffix);
    const ModelInfo& info = engine_.info();
    const auto bos = engine_.Tokenize(info.adds_bos ? info.bos_text : "", false, true);
    if (!bos) return tl::unexpected(bos.error());
    AddTurn();
    AppendTokens(*bos, &prompt_);
    AppendTokens(suffix_first_ ? *suffix : *prefix, &prompt_);
    AddTurn();
    AppendTokens(suffix_first_ ? *prefix : *suffix, &prompt_);
    shape_.messages_end = prompt_.size();
    prompt_.push_back(tokens_.middle);
    return {};
  }

  // The part that changes with every request begins here.
  void AddTurn() {
    if (!prompt_.empty()) shape_.turns.push_back({prompt_.size(), true});
  }

  const Engine& engine_;
  const InfillTokens tokens_;
  const bool suffix_first_;
  size_t batch_tokens_ = 0;
  size_t extra_tokens_max_ = 0;
  Tokens prompt_;
  PromptShape shape_;
};

ApiResult<CompletionRequest> WriteLayout(const ChatService& service, const InfillFields& fields,
                                         const GenerationParams& defaults,
                                         const InfillOptions& options) {
  const PromptLimits& limits = service.limits();
  const size_t bytes = InfillBytes(fields);
  if (auto fits = limits.CheckBytes(TextUse::kCounted, bytes); !fits) {
    return tl::unexpected(fits.error());
  }
  const auto turn = limits.WaitForTurn(bytes);
  auto request = Layout(service.engine(), options, defaults).Write(fields);
  if (!request) return tl::unexpected(ToApiError(request.error()));
  return *std::move(request);
}

}  // namespace

ApiResult<CompletionRequest> ParseInfill(const ChatService& service, const Json& body,
                                         const GenerationParams& defaults,
                                         const InfillOptions& options) {
  const InfillTokens& tokens = options.tokens;
  if (!tokens.complete()) {
    return tl::unexpected(ToApiError(
        {ErrorCode::kUnsupported,
         "this model has no fill-in-the-middle tokens: its vocabulary lacks " +
             MissingTokens(tokens) + "; serve a model trained for it, such as Qwen2.5-Coder"}));
  }
  const auto fields = ReadFields(body);
  if (!fields) return tl::unexpected(fields.error());
  auto request = WriteLayout(service, *fields, defaults, options);
  if (!request) return tl::unexpected(request.error());
  return ParseCompletionFields(body, defaults, CompletionDialect::kNative, std::move(*request),
                               service.grammars());
}

bool HasSuffix(const Json& body) {
  const Json* suffix = FieldReader(body, "").Find("suffix");
  return suffix != nullptr && *suffix != Json("");
}

ApiResult<CompletionRequest> ParseSuffixCompletion(const ChatService& service, const Json& body,
                                                   const GenerationParams& defaults,
                                                   const InfillOptions& options) {
  InfillFields read;
  FieldReader fields(body, "");
  fields.String("suffix", &read.suffix);
  const Json* prompt = fields.Find("prompt");
  if (prompt == nullptr || !prompt->is_string()) {
    fields.Fail("prompt", "one string, the text before the gap, with 'suffix'");
  }
  if (!options.tokens.complete()) {
    fields.Fail("suffix",
                "absent: this model has no fill-in-the-middle tokens; its vocabulary lacks " +
                    MissingTokens(options.tokens));
  }
  fields.String("prompt", &read.prefix);
  if (fields.error()) return tl::unexpected(*fields.error());
  // Nobody chose a budget for this gap: as much of the texts as the context holds.
  InfillOptions whole = options;
  whole.batch_tokens = service.engine().context_tokens();
  auto request = WriteLayout(service, read, defaults, whole);
  if (!request) return tl::unexpected(request.error());
  request->prompt_text = read.prefix;
  return ParseCompletionFields(body, defaults, CompletionDialect::kOpenAi, std::move(*request),
                               service.grammars());
}

}  // namespace cairn
