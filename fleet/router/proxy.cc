#include "fleet/router/proxy.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "fleet/router/children/child_connection.h"
#include "fleet/router/error_answer.h"
#include "fleet/router/stream_end.h"

namespace cairn {
namespace {

using Step = ChildConnection::Step;

// How often a client that waits is looked at.
constexpr int kProxyWaitMs = 200;

// The headers of a request that mean something to a model's process. All others are of the
// client's connection to the router, or nobody reads them.
constexpr std::array<std::string_view, 5> kRequestHeaders = {"Accept", "Content-Type", "User-Agent",
                                                             "anthropic-beta", "anthropic-version"};

// The headers of an answer that are of the process's connection, or that the router sets itself.
constexpr std::array<std::string_view, 9> kConnectionHeaders = {
    "Accept-Ranges", "Connection", "Content-Length", "Content-Type",     "Date",
    "Keep-Alive",    "request-id", "Server",         "Transfer-Encoding"};

template <typename Names>
bool IsOneOf(std::string_view name, const Names& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view one) { return SameIgnoringCase(one, name); });
}

// The HTTP library decodes percents in headers, so that a value may hold the end of a line.
bool IsPlain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) >= ' ' && c != '\x7f') || c == '\t';
  });
}

bool IsTarget(std::string_view text) {
  return text.starts_with('/') && text.find(' ') == std::string_view::npos && IsPlain(text);
}

std::string DeathText(const std::string& model) {
  return "the process of the model '" + model +
         "' ended before the answer did; send the request "
         "again";
}

// A stream on its way through the router.
struct PassedStream {
  std::unique_ptr<ChildConnection> connection;
  std::shared_ptr<ModelLease> lease;
  StreamEnd end;

  // As StreamBody::next.
  bool Next(std::string* chunk) {
    std::string bytes;
    const Step step = connection->ReadBody(kProxyWaitMs, &bytes);
    end.Pass(bytes, chunk);
    if (step == Step::kNothing || step == Step::kMore) return true;
    if (step == Step::kEnd) {
      end.Complete(chunk);
      lease->Answered();
    } else {
      lease->Broken();
      end.Break(DeathText(lease->name()), chunk);
    }
    Close();
    return false;
  }
  void Close() {
    connection.reset();
    lease.reset();
  }
};

void CopyHead(const ChildAnswerHead& head, HttpResponse* response) {
  response->status = head.status;
  const std::string_view type = head.Header("Content-Type");
  if (!type.empty()) response->content_type = type;
  for (const auto& [name, value] : head.headers) {
    if (IsOneOf(name, kConnectionHeaders) || SameIgnoringCase(name, "x-request-id")) continue;
    response->headers.emplace_back(name, value);
  }
}

}  // namespace

// The key's own text: what the HTTP library returns of the header was decoded once already.
std::string Proxy::KeyOf(const HttpRequest& request) const {
  if (keys_ == nullptr || request.key_number == 0) return {};
  const auto known = keys_->known();
  const size_t index = request.key_number - 1;
  return index < known.size() ? known[index].text : std::string();
}

HttpResponse Proxy::Forward(const HttpRequest& request, std::shared_ptr<ModelLease> lease) const {
  if (!IsTarget(request.target)) {
    return ErrorAnswer(400, "the request's target has characters that it may not have",
                       request.path);
  }
  ChildRequest sent;
  sent.method = request.method;
  sent.target = request.target;
  sent.body = request.body;
  for (const auto& [name, value] : request.headers) {
    if (IsOneOf(name, kRequestHeaders) && IsPlain(value)) sent.headers.emplace_back(name, value);
  }
  if (std::string key = KeyOf(request); !key.empty()) {
    sent.headers.emplace_back("Authorization", "Bearer " + std::move(key));
  }
  const std::string model = lease->name();
  auto connection = ChildConnection::Send(lease->port(), sent);
  if (!connection) {
    if (connection.error().code == ErrorCode::kNotFound) lease->Refused();
    return ErrorAnswer(503, DeathText(model), request.path);
  }
  const auto goes_on = [&](Step step) { return step == Step::kNothing && !request.gone(); };
  Step step = Step::kNothing;
  while (goes_on(step)) step = (*connection)->ReadHead(kProxyWaitMs);
  if (step == Step::kBroken) lease->Broken();
  if (step != Step::kMore) return ErrorAnswer(503, DeathText(model), request.path);

  HttpResponse response;
  CopyHead((*connection)->head(), &response);
  if ((*connection)->head().streams && request.method != "HEAD") {
    auto stream = std::make_shared<PassedStream>(
        PassedStream{std::move(*connection), std::move(lease), StreamEnd(request.path)});
    response.stream.next = [stream](std::string* chunk) { return stream->Next(chunk); };
    response.stream.on_gone = [stream] { stream->Close(); };
    return response;
  }
  do {
    step = (*connection)->ReadBody(kProxyWaitMs, &response.body);
  } while (step == Step::kMore || goes_on(step));
  if (step == Step::kBroken) lease->Broken();
  if (step != Step::kEnd) return ErrorAnswer(503, DeathText(model), request.path);
  lease->Answered();
  return response;
}

}  // namespace cairn
