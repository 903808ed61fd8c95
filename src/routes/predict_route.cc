#include "routes/predict_route.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <ranges>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "api/json.h"
#include "base/process/threads.h"
#include "base/text.h"
#include "routes/answering.h"

namespace cairn {
namespace {

constexpr const char* kFormat = "@requestFormat";
constexpr size_t kInstancesMax = 128;  // as in llama-server
// So many instances are answered at once. The request has one seat, and its key one share.
constexpr size_t kAtOnce = 4;

// The names of llama-server for its routes. It takes the paths too.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kFormats = {{
    {"chatCompletions", "/v1/chat/completions"},
    {"completions", "/v1/completions"},
    {"completion", "/completion"},
    {"responses", "/v1/responses"},
    {"messages", "/v1/messages"},
    {"messagesCountTokens", "/v1/messages/count_tokens"},
    {"embeddings", "/v1/embeddings"},
    {"rerank", "/v1/rerank"},
    {"infill", "/infill"},
    {"tokenize", "/tokenize"},
    {"detokenize", "/detokenize"},
    {"applyTemplate", "/apply-template"},
}};

std::string_view PathOf(std::string_view format) {
  for (const auto& [name, path] : kFormats) {
    if (name == format || path == format) return path;
  }
  return {};
}

std::string AnswerInstance(const HttpServer& server, const HttpRequest& request,
                           const Json& instance, const std::string& place) {
  if (!instance.is_object()) return ErrorBody(FieldError(place, "an object"));
  const Json* const format = instance.contains(kFormat) ? &instance.at(kFormat) : nullptr;
  const std::string_view path =
      format != nullptr && format->is_string() ? PathOf(format->text()) : std::string_view();
  if (path.empty()) {
    return ErrorBody(
        FieldError(place + "." + kFormat, "one of " + JoinNames(std::views::keys(kFormats))));
  }
  Json body = instance;
  body.erase(kFormat);
  if (body.contains("stream")) body["stream"] = false;
  HttpRequest one = request;
  one.path = path;
  one.target = path;
  one.params.clear();
  one.body = ToText(body);
  const HttpResponse response = server.Call(std::move(one));
  // All bodies are JSON; only a page or a stream would not be.
  if (response.stream || response.body.empty()) {
    return ErrorBody(FieldError(place, "a request whose answer is one object"));
  }
  return response.body;
}

// Runs the tasks on this thread and some more, and returns when all have ended. `run` must not
// throw.
void RunAll(size_t tasks, const std::function<void(size_t task)>& run) {
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t task = next++; task < tasks; task = next++) run(task);
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min(tasks, kAtOnce); ++i) {
    if (!TryWork([&] { threads.emplace_back(work); })) break;  // the others do its part
  }
  work();
  for (std::thread& thread : threads) thread.join();
}

HttpResponse Predict(const HttpServer& server, const HttpRequest& request) {
  const auto body = ParseBody(request.body);
  if (!body) return ErrorResponse(body.error());
  const Json* const instances = body->contains("instances") ? &body->at("instances") : nullptr;
  if (instances == nullptr || !instances->is_array() || instances->size() > kInstancesMax) {
    return ErrorResponse(
        FieldError("instances", "a list of at most " + std::to_string(kInstancesMax) + " objects"));
  }
  std::vector<std::string> answers(instances->size());
  RunAll(answers.size(), [&](size_t i) {
    const std::string place = "instances[" + std::to_string(i) + "]";
    const Status done =
        TryWork([&] { answers[i] = AnswerInstance(server, request, instances->at(i), place); });
    if (!done) answers[i] = ErrorBody(ToApiError(done.error()));
  });
  HttpResponse response;
  response.body = R"({"predictions":[)";
  for (size_t i = 0; i < answers.size(); ++i) response.body += (i > 0 ? "," : "") + answers[i];
  response.body += "]}";
  return response;
}

Status ReadPath(const std::map<std::string, std::string>& environment, const char* name,
                std::string* path) {
  const auto found = environment.find(name);
  if (found == environment.end() || found->second.empty()) return {};
  const std::string& text = found->second;
  // A segment that begins with a colon would stand for any one.
  if (text.front() != '/' || text.find("/:") != std::string::npos ||
      text.find_first_of("?# ") != std::string::npos) {
    return Fail(ErrorCode::kInvalidArgument,
                std::string(name) + " must be a path such as /predict, not '" + text + "'");
  }
  *path = text;
  return {};
}

}  // namespace

Result<std::optional<PredictOptions>> PredictOptionsOf(
    const std::map<std::string, std::string>& environment) {
  const auto mode = environment.find("AIP_MODE");
  if (mode == environment.end() || mode->second != "PREDICTION") return std::nullopt;
  PredictOptions options;
  for (const auto& [name, path] : {std::pair{"AIP_PREDICT_ROUTE", &options.path},
                                   std::pair{"AIP_HEALTH_ROUTE", &options.health_path}}) {
    if (Status read = ReadPath(environment, name, path); !read) {
      return tl::unexpected(read.error());
    }
  }
  const auto port = environment.find("AIP_HTTP_PORT");
  if (port == environment.end() || port->second.empty()) return options;
  const auto number = ParseNumber(port->second);
  if (!number || *number == 0 || *number > UINT16_MAX) {
    return Fail(ErrorCode::kInvalidArgument,
                "AIP_HTTP_PORT must be a port, not '" + port->second + "'");
  }
  options.port = static_cast<int>(*number);
  return options;
}

void AddPredictRoute(HttpServer* server, const PredictOptions& options) {
  const auto* const routes = server;
  server->Handle("POST", options.path,
                 [routes](const HttpRequest& request) { return Predict(*routes, request); });
  if (options.health_path.empty()) return;
  server->Handle(
      "GET", options.health_path,
      [routes](const HttpRequest& request) {
        HttpRequest health = request;
        health.path = "/health";
        return routes->Call(std::move(health));
      },
      HttpAccess::kAlways);
}

}  // namespace cairn
