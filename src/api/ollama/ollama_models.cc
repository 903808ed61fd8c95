#include "api/ollama/ollama_models.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <iterator>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "chat/parse/answer_parser.h"
#include "engine/embed/embedding_architectures.h"

namespace cairn {
namespace {

// The version of Ollama whose API this one follows. Clients compare it with the least that they
// need, and know nothing of our own versions.
constexpr const char* kOllamaVersion = "0.12.11";

constexpr std::string_view kLatest = ":latest";

// As Ollama shows models that stay loaded for ever.
constexpr const char* kNever = "2318-01-01T00:00:00Z";

// Returns "7.6B" or "135M", as Ollama writes the number of parameters.
std::string SizeText(uint64_t parameters) {
  constexpr std::array<std::pair<double, char>, 3> kUnits = {{{1e9, 'B'}, {1e6, 'M'}, {1e3, 'K'}}};
  if (parameters == 0) return "";
  std::array<char, 32> text{};
  for (const auto& [size, letter] : kUnits) {
    const double count = static_cast<double>(parameters) / size;
    if (count < 1) continue;
    std::snprintf(text.data(), text.size(), count < 100 ? "%.1f%c" : "%.0f%c", count, letter);
    return text.data();
  }
  return std::to_string(parameters);
}

// libllama describes a model as "llama 7B Q4_K - Medium"; Ollama has Q4_K_M.
std::string QuantizationOf(std::string_view description) {
  for (int word = 0; word < 2; ++word) {
    const size_t space = description.find(' ');
    if (space == std::string_view::npos) return "";
    description.remove_prefix(space + 1);
  }
  for (const std::string_view before : {"(guessed) ", "all "}) {
    if (description.starts_with(before)) description.remove_prefix(before.size());
  }
  const size_t end = std::min(description.find(' '), description.size());
  std::string level(description.substr(0, end));
  const size_t grade = description.find(" - ");
  if (grade != std::string_view::npos && grade + 3 < description.size()) {
    const char first = description[grade + 3];
    if (first == 'S' || first == 'M' || first == 'L') level += std::string("_") + first;
  }
  return level;
}

// 64 digits, as Ollama's digests have: the same for the same model, but no hash of its file, which
// would have to be read for that.
std::string DigestOf(const std::string& text) {
  std::string digest;
  for (uint64_t seed = 1; seed <= 4; ++seed) digest += HexText(Hash64(text, seed));
  return digest;
}

Json DetailsJson(const OllamaDetails& details) {
  return {{"parent_model", ""},
          {"format", "gguf"},
          {"family", details.family},
          {"families", Json::array({details.family})},
          {"parameter_size", details.parameter_size},
          {"quantization_level", details.quantization_level}};
}

OllamaDetails DetailsOf(const ChatService& service, const ServedModel& served) {
  const ModelInfo& info = service.engine().info();
  return {served.alias,
          info.architecture,
          SizeText(info.parameters),
          QuantizationOf(info.description),
          info.size_bytes,
          served.started_unix_s};
}

Json CapabilitiesOf(const ChatService& service, const OllamaAbilities& abilities) {
  if (IsEncoder(service.engine().info().architecture)) return Json::array({"embedding"});
  Json names = Json::array({"completion", "tools"});
  if (abilities.infill != nullptr && abilities.infill->tokens.complete()) {
    names.push_back("insert");
  }
  const MediaRules& media = service.media_rules();
  if (media.takes_images) names.push_back("vision");
  if (media.takes_audio) names.push_back("audio");
  if (abilities.embeds) names.push_back("embedding");
  if (Thinks(service)) names.push_back("thinking");
  return names;
}

// The context is the server's, not the one that the model was trained with: clients cut their
// prompts to it.
Json ModelInfoJson(const Engine& engine) {
  const ModelInfo& info = engine.info();
  const std::string& family = info.architecture;
  return {{"general.architecture", family},
          {"general.basename", info.name},
          {"general.parameter_count", info.parameters},
          {family + ".context_length", engine.context_tokens()},
          {family + ".embedding_length", info.embedding_size},
          {family + ".vocab_size", info.vocab_size}};
}

// The server's defaults, a line each, as in a Modelfile.
std::string ParametersText(const GenerationParams& defaults, size_t context_tokens) {
  const SamplingParams& sampling = defaults.sampling;
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(),
                "num_ctx %zu\ntemperature %g\ntop_k %d\ntop_p %g\nmin_p %g\nrepeat_penalty %g",
                context_tokens, static_cast<double>(sampling.temperature), sampling.top_k,
                static_cast<double>(sampling.top_p), static_cast<double>(sampling.min_p),
                static_cast<double>(sampling.repeat_penalty));
  return text.data();
}

}  // namespace

std::string OllamaErrorBody(const ApiError& error) {
  return ToText({{"error", ShownErrorText(error.message)}});
}

bool IsOllamaPath(std::string_view path) {
  return path.starts_with("/api/") && !path.starts_with("/api/v1/");
}

std::string OllamaTime(int64_t unix_s) {
  const auto seconds = static_cast<std::time_t>(unix_s);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  const size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text.data(), size};
}

std::string WithOllamaTag(std::string_view name) {
  const size_t slash = name.rfind('/');
  const bool has_tag =
      name.find(':', slash == std::string_view::npos ? 0 : slash) != std::string_view::npos;
  return std::string(name) + (has_tag ? "" : std::string(kLatest));
}

std::string_view WithoutLatest(std::string_view name) {
  if (name.ends_with(kLatest)) name.remove_suffix(kLatest.size());
  return name;
}

ApiResult<std::string> ReadOllamaModel(const Json& body) {
  FieldReader fields(body, "");
  std::string name;
  fields.String("name", &name);
  fields.String("model", &name);
  if (name.empty()) fields.Fail("model", "the name of a model");
  if (fields.error()) return tl::unexpected(*fields.error());
  return name;
}

ApiResult<std::string> OllamaModelIn(std::string_view body) {
  const auto json = ParseBody(body);
  if (!json) return tl::unexpected(json.error());
  return ReadOllamaModel(*json);
}

ApiError NoOllamaModel(std::string_view name, std::string_view there) {
  return ToApiError(
      {ErrorCode::kNotFound,
       "model '" + std::string(name) + "' not found; this server has " + std::string(there)});
}

ApiResult<void> CheckOllamaModel(const ServedModel& served, std::string_view name) {
  if (!served.id_tag.empty()) return {};
  const auto is_it = [asked = WithoutLatest(name), name](const std::string& own) {
    return own == name || WithoutLatest(own) == asked;
  };
  const auto& aliases = served.aliases;
  if (is_it(served.alias) || std::any_of(aliases.begin(), aliases.end(), is_it)) return {};
  return tl::unexpected(NoOllamaModel(name, "'" + served.alias + "'"));
}

Json OllamaEntry(const OllamaDetails& details) {
  const std::string name = WithOllamaTag(details.name);
  return {{"name", name},
          {"model", name},
          {"modified_at", OllamaTime(details.modified_unix_s)},
          {"size", details.bytes},
          {"digest", DigestOf(details.name + "\n" + details.family + "\n" + details.parameter_size +
                              "\n" + std::to_string(details.bytes))},
          {"details", DetailsJson(details)}};
}

std::string OllamaVersionBody() {
  return ToText({{"version", kOllamaVersion}});
}

std::string OllamaTagsBody(const ChatService& service, const ServedModel& served) {
  return ToText({{"models", Json::array({OllamaEntry(DetailsOf(service, served))})}});
}

std::string OllamaPsBody(const ChatService& service, const ServedModel& served) {
  Json models = Json::array();
  if (!service.stats().sleep.asleep) {
    const Engine& engine = service.engine();
    Json entry = OllamaEntry(DetailsOf(service, served));
    entry.erase("modified_at");
    entry["expires_at"] = kNever;
    entry["size_vram"] = engine.traits().on_device ? engine.info().size_bytes : 0;
    entry["context_length"] = engine.context_tokens();
    models.push_back(std::move(entry));
  }
  return ToText({{"models", std::move(models)}});
}

bool Thinks(const ChatService& service) {
  const ChatTemplate& chat_template = service.chat_template();
  return chat_template.reasoning_tags().learned ||
         DetectCallFormat(chat_template.source()) == CallFormat::kHarmony;
}

ApiResult<std::string> OllamaShowBody(const ChatService& service, const ServedModel& served,
                                      const OllamaAbilities& abilities, std::string_view body) {
  const auto name = OllamaModelIn(body);
  if (!name) return tl::unexpected(name.error());
  if (const auto there = CheckOllamaModel(served, *name); !there) {
    return tl::unexpected(there.error());
  }
  const Engine& engine = service.engine();
  const GenerationParams usual;
  const GenerationParams& defaults = abilities.defaults != nullptr ? *abilities.defaults : usual;
  return ToText({{"modelfile", "# served by Cairn\nFROM " + served.alias + "\n"},
                 {"parameters", ParametersText(defaults, engine.context_tokens())},
                 {"template", service.chat_template().source()},
                 {"details", DetailsJson(DetailsOf(service, served))},
                 {"model_info", ModelInfoJson(engine)},
                 {"capabilities", CapabilitiesOf(service, abilities)},
                 {"modified_at", OllamaTime(served.started_unix_s)}});
}

ApiResult<std::string> OllamaPullBody(ApiResult<void> there) {
  if (!there) {
    ApiError error = std::move(there.error());
    if (error.status == 404) {
      error.message +=
          ", and downloads none by request; start it with the model: cairn serve -hf "
          "USER/REPOSITORY";
    }
    return tl::unexpected(std::move(error));
  }
  return ToText({{"status", "success"}}) + "\n";
}

ApiError NoOllamaChange(std::string_view path) {
  return ToApiError(
      {ErrorCode::kUnsupported,
       std::string(path) +
           " is not offered: this server serves the models that it was started with; make or "
           "remove GGUF files, and name them with cairn serve -m, -hf or --models-dir"});
}

}  // namespace cairn
