#include "cmd/serve/events/kv_event_flags.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "base/fs.h"
#include "base/net/loopback.h"
#include "base/text.h"
#include "cmd/serve/base/key_flags.h"
#include "fleet/events/pseudonymous_ids.h"

namespace cairn {
namespace {

constexpr const char* kEventsGroup = "KV events";
constexpr std::string_view kScheme = "tcp://";
constexpr size_t kSecretBytesMin = 16;

struct Address {
  std::string host;
  std::string port;
};

// Splits HOST:PORT; an IPv6 address is in brackets.
std::optional<Address> SplitAddress(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  const auto port = ParseNumber(text.substr(colon + 1));
  constexpr size_t kPortMax = 65535;
  if (!port || *port > kPortMax) return std::nullopt;
  const std::string_view host = text.substr(0, colon);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (!bracketed && host.find(':') != std::string_view::npos) return std::nullopt;
  return Address{std::string(host), std::string(text.substr(colon + 1))};
}

Result<Address> ParseEventEndpoint(const char* flag, const std::string& text) {
  if (text.starts_with(kScheme)) {
    if (auto address = SplitAddress(std::string_view(text).substr(kScheme.size()))) {
      return *std::move(address);
    }
  }
  return Fail(ErrorCode::kInvalidArgument, std::string(flag) + " '" + text +
                                               "': expected tcp://ADDRESS:PORT, such as "
                                               "tcp://127.0.0.1:5557 or tcp://*:5557");
}

bool IsLoopbackHost(std::string host) {
  if (host == "localhost") return true;
  sockaddr_in v4 = {};
  v4.sin_family = AF_INET;
  if (inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    return IsLoopback(reinterpret_cast<const sockaddr*>(&v4));
  }
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  sockaddr_in6 v6 = {};
  v6.sin6_family = AF_INET6;
  return inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1 &&
         IsLoopback(reinterpret_cast<const sockaddr*>(&v6));
}

// The address under which others reach the server.
Result<std::string> AdvertisedAddress(const KvEventOptions& options, const KvEventServer& server) {
  if (!options.address.empty()) {
    if (SplitAddress(options.address)) return options.address;
    return Fail(ErrorCode::kInvalidArgument,
                "--kv-events-address '" + options.address + "': expected HOST:PORT");
  }
  for (const char* any : {"0.0.0.0", "::", "[::]", "*"}) {
    if (server.host != any) continue;
    return Fail(ErrorCode::kInvalidArgument,
                "--kv-events: routers know a server by its address, and --host " + server.host +
                    " names none; give it with --kv-events-address HOST:PORT");
  }
  const bool is_v6 = server.host.find(':') != std::string::npos;
  const std::string host =
      is_v6 && !server.host.starts_with('[') ? "[" + server.host + "]" : server.host;
  return host + ":" + std::to_string(server.port);
}

Result<std::string> ReadSecret(const std::string& path) {
  auto text = ReadFile(path);
  if (!text) return Fail(text.error().code, "--kv-events-secret-file " + text.error().message);
  const size_t end = text->find_last_not_of(" \t\r\n");
  text->resize(end == std::string::npos ? 0 : end + 1);
  if (text->size() >= kSecretBytesMin) return *std::move(text);
  return Fail(ErrorCode::kInvalidArgument,
              "--kv-events-secret-file '" + path + "' has " + std::to_string(text->size()) +
                  " bytes; a secret has 16 at least: openssl rand -hex 32 makes one");
}

Status CheckReach(const KvEventOptions& options) {
  const auto events = ParseEventEndpoint("--kv-events", options.events);
  if (!events) return tl::unexpected(events.error());
  bool is_local = IsLoopbackHost(events->host);
  if (!options.replay.empty()) {
    const auto replay = ParseEventEndpoint("--kv-events-replay", options.replay);
    if (!replay) return tl::unexpected(replay.error());
    is_local = is_local && IsLoopbackHost(replay->host);
  }
  if (is_local || !options.secret_file.empty()) return {};
  return Fail(ErrorCode::kInvalidArgument,
              "--kv-events: the tokens of all prompts would be readable for everyone who can reach "
              "the port; give --kv-events-secret-file FILE, which makes pseudonyms of them, or "
              "publish on 127.0.0.1");
}

}  // namespace

void AddKvEventFlags(CLI::App* serve, KvEventOptions* options) {
  serve
      ->add_option("--kv-events", options->events,
                   "Publish which prefixes this server can resume from, for routers, as vLLM's KV "
                   "events over ZeroMQ: tcp://ADDRESS:PORT; other addresses than loopback need "
                   "--kv-events-secret-file (default: none)")
      ->group(kEventsGroup);
  serve
      ->add_option("--kv-events-replay", options->replay,
                   "Answer requests for earlier KV events at tcp://ADDRESS:PORT (default: none)")
      ->group(kEventsGroup);
  serve
      ->add_option("--kv-events-model", options->model,
                   "Model name in the topic of KV events (default: --alias)")
      ->group(kEventsGroup);
  serve
      ->add_option("--kv-events-address", options->address,
                   "HOST:PORT at which routers reach this server, in the topic of KV events "
                   "(default: --host and --port)")
      ->group(kEventsGroup);
  serve
      ->add_option("--kv-events-secret-file", options->secret_file,
                   "File with a secret that all servers behind a router share: KV events and "
                   "/render then have pseudonyms instead of tokens")
      ->group(kEventsGroup);
}

Result<KvEventsOptions> ToKvEventsOptions(const KvEventOptions& options,
                                          const KvEventServer& server) {
  if (Status checked = CheckReach(options); !checked) return tl::unexpected(checked.error());
  const std::string& model = options.model.empty() ? server.model : options.model;
  if (model.find('@') != std::string::npos) {
    return Fail(ErrorCode::kInvalidArgument,
                "--kv-events: routers split a topic at @, and the model is named " + model +
                    "; give another name with --kv-events-model");
  }
  const auto address = AdvertisedAddress(options, server);
  if (!address) return tl::unexpected(address.error());
  KvEventsOptions to;
  to.events = options.events;
  to.replay = options.replay;
  to.topic = "kv@" + *address + "@" + model;
  if (!options.secret_file.empty()) {
    const auto secret = ReadSecret(options.secret_file);
    if (!secret) return tl::unexpected(secret.error());
    to.ids = PseudonymousIds(*secret);
  }
  return to;
}

Result<std::unique_ptr<KvEvents>> StartKvEvents(const KvEventOptions& options,
                                                const KvEventServer& server, const LogSink& log) {
  if (options.events.empty()) {
    if (options.replay.empty()) return nullptr;
    return Fail(ErrorCode::kInvalidArgument,
                "--kv-events-replay needs --kv-events; give both addresses");
  }
  auto to = ToKvEventsOptions(options, server);
  if (!to) return tl::unexpected(to.error());
  to->log = log;
  auto events = KvEvents::Start(*to);
  if (!events) return tl::unexpected(events.error());
  if (!log) return events;
  const std::string replay = (*events)->replay_endpoint();
  log(LogLevel::kInfo, "KV events at " + (*events)->events_endpoint() +
                           (replay.empty() ? "" : ", replays at " + replay) + ", topic " +
                           to->topic + (to->ids.pseudonymous() ? ", pseudonymous" : ""));
  if (!options.secret_file.empty() && OthersCanRead(options.secret_file)) {
    log(LogLevel::kWarning, "--kv-events-secret-file " + options.secret_file +
                                ": every user of this machine can read it; chmod 600 it");
  }
  return events;
}

}  // namespace cairn
