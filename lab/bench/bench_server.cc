#include "lab/bench/bench_server.h"

#include <charconv>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "base/json.h"

namespace cairn {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(50);
constexpr int kSamplesAlike = 3;  // equal samples in a row after which the counter stands still
constexpr double kSettleMsMax = 60'000;
constexpr int kReadyReplyMs = 2000;

std::string TextAtPointer(const Json& json, const char* pointer) {
  const Json* const found = FindPointer(json, pointer);
  return found != nullptr && found->is_string() ? found->text() : "";
}

// Returns the reply's JSON; null if its status is not 200 or it is not JSON.
Json ParsedReply(const Result<HttpReply>& reply) {
  if (!reply || reply->status != 200) return nullptr;
  Json json = Json::parse(reply->body, nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? Json() : json;
}

std::string LastPartOf(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

// Returns the value of a line "name{labels} value" with that name; nullopt for all other lines.
std::optional<double> Sample(std::string_view line, std::string_view name) {
  if (!line.starts_with(name)) return std::nullopt;
  const std::string_view rest = line.substr(name.size());
  if (!rest.starts_with(' ') && !rest.starts_with('{')) return std::nullopt;
  const size_t space = line.rfind(' ');
  double value = 0;
  const auto [end, error] =
      std::from_chars(line.data() + space + 1, line.data() + line.size(), value);
  if (error != std::errc() || value < 0) return std::nullopt;
  return value;
}

}  // namespace

std::optional<size_t> TokensReadIn(std::string_view metrics) {
  std::optional<double> ours;
  std::optional<double> llama_servers;
  while (!metrics.empty()) {
    const size_t end = metrics.find('\n');
    const std::string_view line = metrics.substr(0, end);
    metrics.remove_prefix(end == std::string_view::npos ? metrics.size() : end + 1);
    if (const auto tokens = Sample(line, "cairn_prompt_tokens_by_source_total")) {
      if (line.find("source=\"computed\"") != std::string_view::npos)
        ours = ours.value_or(0) + *tokens;
    } else if (const auto ahead = Sample(line, "cairn_prefetched_tokens_total")) {
      ours = ours.value_or(0) + *ahead;
    } else if (const auto total = Sample(line, "llamacpp:prompt_tokens_total")) {
      llama_servers = total;
    }
  }
  if (!ours) ours = llama_servers;
  if (!ours) return std::nullopt;
  return static_cast<size_t>(*ours);
}

Result<ServerFigures> BenchServer::Describe() const {
  const Result<HttpReply> models = http_.Get("/v1/models");
  if (!models) return tl::unexpected<Error>(models.error());
  ServerFigures figures;
  figures.url = url();
  const Json listed = ParsedReply(models);
  figures.model = LastPartOf(TextAtPointer(listed, "/data/0/id"));
  figures.architecture = TextAtPointer(listed, "/data/0/meta/architecture");
  const Json props = ParsedReply(http_.Get("/props"));
  // "b0.1.0-cairn" is ours, "b11669-Debian" llama-server's.
  constexpr std::string_view kOurs = "-cairn";
  const std::string build = TextAtPointer(props, "/build_info");
  if (build.starts_with('b') && build.ends_with(kOurs)) {
    figures.program = "cairn " + build.substr(1, build.size() - 1 - kOurs.size());
  } else if (!build.empty()) {
    figures.program = "llama-server " + build;
  }
  figures.memory = TextAtPointer(props, "/cairn/memory_class");
  const Json* const grid = FindPointer(props, "/cairn/grid_tokens");
  if (grid != nullptr && grid->is_number_unsigned()) figures.grid_tokens = grid->get<size_t>();
  return figures;
}

std::optional<std::vector<int32_t>> BenchServer::Tokenize(const std::string& text,
                                                          bool add_special) const {
  const Json body = {{"add_special", add_special}, {"content", text}, {"parse_special", true}};
  const Json reply = ParsedReply(http_.Post("/tokenize", ToText(body)));
  const auto list = reply.is_object() ? reply.find("tokens") : reply.end();
  if (list == reply.end() || !list->is_array()) return std::nullopt;
  std::vector<int32_t> tokens;
  tokens.reserve(list->size());
  for (const Json& token : *list) {
    if (!token.is_number_integer()) return std::nullopt;
    tokens.push_back(token.get<int32_t>());
  }
  return tokens;
}

std::optional<std::string> BenchServer::Prompt(const std::string& conversation_body) const {
  const Json reply = ParsedReply(http_.Post("/apply-template", conversation_body));
  if (!reply.is_object() || !reply.contains("prompt") || !reply["prompt"].is_string()) {
    return std::nullopt;
  }
  return reply["prompt"].get<std::string>();
}

std::optional<size_t> BenchServer::TokensRead() const {
  const SteadyClock clock;
  const double begin_ms = clock.NowMs();
  std::optional<size_t> last;
  for (int alike = 0; alike < kSamplesAlike;) {
    const Result<HttpReply> reply = http_.Get("/metrics");
    if (!reply || reply->status != 200) return std::nullopt;
    const std::optional<size_t> now = TokensReadIn(reply->body);
    if (!now) return std::nullopt;
    alike = now == last ? alike + 1 : 1;
    last = now;
    if (clock.NowMs() - begin_ms > kSettleMsMax) break;
    if (alike < kSamplesAlike) std::this_thread::sleep_for(kPollInterval);
  }
  return last;
}

Status BenchServer::WaitUntilReady(double timeout_ms) const {
  const SteadyClock clock;
  const double begin_ms = clock.NowMs();
  HttpClientOptions options;
  options.timeout_ms = kReadyReplyMs;
  const HttpClient http(url(), options);
  for (;;) {
    const Result<HttpReply> reply = http.Get("/health");
    if (reply && reply->status == 200) return {};
    if (clock.NowMs() - begin_ms > timeout_ms) {
      return Fail(ErrorCode::kUnavailable, "the server at " + url() + " was not ready in time");
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

}  // namespace cairn
