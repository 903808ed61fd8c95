#include "cmd/lib/server_client.h"

#include <utility>

namespace cairn {
namespace {

constexpr int kTimeoutMs = 5000;

}  // namespace

HttpClient ServerClient(const std::string& url, const std::string& api_key) {
  HttpClientOptions http;
  http.timeout_ms = kTimeoutMs;
  if (!api_key.empty()) http.headers.emplace_back("Authorization", "Bearer " + api_key);
  return HttpClient(url, http);
}

Result<std::string> BodyOf(const HttpClient& client, const std::string& path,
                           std::string_view hint) {
  auto reply = client.Get(path);
  if (!reply) return tl::unexpected(reply.error());
  if (reply->status == 401) {
    return Fail(ErrorCode::kInvalidArgument,
                "the server requires an API key; give it with --api-key");
  }
  if (reply->status != 200) {
    return Fail(ErrorCode::kUnavailable, client.url() + path.substr(0, path.find('?')) +
                                             " answered with status " +
                                             std::to_string(reply->status) + std::string(hint));
  }
  return std::move(reply->body);
}

}  // namespace cairn
