#include "cmd/front/endpoints.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "base/check.h"
#include "base/json.h"

namespace cairn {
namespace {

Result<Endpoint> ParseEndpoint(const std::string& text) {
  const auto wrong = [&](const std::string& why) {
    return Fail(ErrorCode::kInvalidArgument,
                "--servers: " + text + " " + why + "; write HOST:PORT, as in 10.0.0.1:8080");
  };
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return wrong("has no port");
  Endpoint endpoint;
  endpoint.address = text.substr(0, colon);
  in_addr address{};
  if (inet_pton(AF_INET, endpoint.address.c_str(), &address) != 1) {
    return wrong("is no IPv4 address, which is all that the endpoint picker takes");
  }
  const char* const begin = text.data() + colon + 1;
  const char* const end = text.data() + text.size();
  const auto [parsed, error] = std::from_chars(begin, end, endpoint.port);
  if (error != std::errc() || parsed != end || endpoint.port == 0) {
    return wrong("has no port from 1 to 65535");
  }
  return endpoint;
}

std::string JsonQuoted(const std::string& text) {
  return ToText(Json(text));
}

}  // namespace

Result<std::vector<Endpoint>> ParseEndpoints(const std::vector<std::string>& texts) {
  std::vector<Endpoint> endpoints;
  for (const std::string& text : texts) {
    auto endpoint = ParseEndpoint(text);
    if (!endpoint) return tl::unexpected(endpoint.error());
    const auto is_same = [&](const Endpoint& other) { return other.Text() == endpoint->Text(); };
    if (std::any_of(endpoints.begin(), endpoints.end(), is_same)) {
      return Fail(ErrorCode::kInvalidArgument, "--servers names " + endpoint->Text() + " twice");
    }
    endpoints.push_back(std::move(*endpoint));
  }
  if (endpoints.empty()) return Fail(ErrorCode::kInvalidArgument, "--servers names no server");
  return endpoints;
}

Result<EndpointLabels> ParseEndpointLabels(const std::vector<std::string>& texts) {
  EndpointLabels labels;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return Fail(ErrorCode::kInvalidArgument, "--label: " + text + " must be KEY=VALUE");
    }
    labels.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return labels;
}

Endpoints::Endpoints(std::vector<Endpoint> endpoints, int fall)
    : all_(std::move(endpoints)), fall_(fall), states_(all_.size()) {}

std::vector<std::string> Endpoints::Update(const std::vector<Health>& healths) {
  CHECK(healths.size() == all_.size());
  std::vector<std::string> changes;
  for (size_t i = 0; i < all_.size(); ++i) {
    State& state = states_[i];
    state.unanswered = healths[i] == Health::kNoAnswer ? state.unanswered + 1 : 0;
    const bool waits = healths[i] == Health::kNoAnswer && state.unanswered < fall_;
    const bool in = healths[i] == Health::kOk || (state.in && waits);
    if (in != state.in) {
      const char* const why = healths[i] == Health::kRefuses ? " takes no requests: it leaves"
                                                             : " does not answer: it leaves";
      changes.push_back(all_[i].Text() + (in ? " takes requests: it joins" : why));
    }
    state.in = in;
  }
  return changes;
}

std::string Endpoints::Yaml(const EndpointLabels& labels) const {
  std::string entries;
  for (size_t i = 0; i < all_.size(); ++i) {
    if (!states_[i].in) continue;
    const std::string port = std::to_string(all_[i].port);
    entries += "  - name: cairn-" + all_[i].address + "-" + port + "\n    address: \"" +
               all_[i].address + "\"\n    port: \"" + port + "\"\n";
    std::string pairs;
    for (const auto& [key, value] : labels) {
      pairs += (pairs.empty() ? "" : ", ") + JsonQuoted(key) + ": " + JsonQuoted(value);
    }
    if (!pairs.empty()) entries += "    labels: {" + pairs + "}\n";
  }
  return "# Written by `cairn front-file`, which replaces it.\nendpoints:" +
         (entries.empty() ? " []\n" : "\n" + entries);
}

}  // namespace cairn
