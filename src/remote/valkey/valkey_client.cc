#include "remote/valkey/valkey_client.h"

#include <hiredis/hiredis.h>
#include <hiredis/hiredis_ssl.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace cairn {
namespace {

constexpr size_t kIdleMax = 8;
constexpr double kConnectMsMax = 2000;
// A server that sends nothing for this long has hung.
constexpr double kStallMsMax = 3000;

struct FreeContext {
  void operator()(redisContext* context) const { redisFree(context); }
};
struct FreeReply {
  void operator()(void* reply) const { freeReplyObject(reply); }
};
struct FreeSsl {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using Connection = std::unique_ptr<redisContext, FreeContext>;

double MsUntil(Deadline deadline) {
  return std::chrono::duration<double, std::milli>(deadline - std::chrono::steady_clock::now())
      .count();
}

timeval TimeOf(double ms) {
  const auto us = static_cast<int64_t>(std::max(ms, 1.0) * 1000);
  timeval time = {};
  time.tv_sec = static_cast<time_t>(us / 1'000'000);
  time.tv_usec = static_cast<suseconds_t>(us % 1'000'000);
  return time;
}

// Error replies begin with a word in capitals.
Error ErrorOfReply(std::string_view text) {
  ErrorCode code = ErrorCode::kUnavailable;
  if (text.starts_with("OOM") || text.starts_with("MISCONF")) code = ErrorCode::kNoSpace;
  if (text.starts_with("WRONGTYPE")) code = ErrorCode::kCorrupt;
  return {code, "it answers \"" + std::string(text.substr(0, 200)) + "\""};
}

ValkeyReply Copy(const redisReply& reply) {
  ValkeyReply copy;
  switch (reply.type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
    case REDIS_REPLY_BIGNUM:
    case REDIS_REPLY_VERB: {
      copy.type = ValkeyReply::Type::kText;
      const auto* const begin = reinterpret_cast<const uint8_t*>(reply.str);
      copy.text.assign(begin, begin + reply.len);
      break;
    }
    case REDIS_REPLY_INTEGER:
    case REDIS_REPLY_BOOL:
      copy.type = ValkeyReply::Type::kNumber;
      copy.number = reply.integer;
      break;
    case REDIS_REPLY_ARRAY:
    case REDIS_REPLY_SET:
    case REDIS_REPLY_MAP:
      copy.type = ValkeyReply::Type::kList;
      for (size_t i = 0; i < reply.elements; ++i) copy.list.push_back(Copy(*reply.element[i]));
      break;
    default:
      break;
  }
  return copy;
}

class HiredisClient final : public ValkeyClient {
 public:
  HiredisClient(const ValkeyOptions& options, std::unique_ptr<SSL_CTX, FreeSsl> tls)
      : options_(options), tls_(std::move(tls)) {}

  Result<std::vector<ValkeyReply>> Run(const std::vector<Command>& commands,
                                       Deadline deadline) override {
    if (commands.empty()) return std::vector<ValkeyReply>{};
    // The server may have closed a connection that was idle; a new one tells.
    if (Connection idle = TakeIdle()) {
      auto replies = RunOn(std::move(idle), commands, deadline);
      if (replies || replies.error().code != ErrorCode::kInternal) return replies;
      DropIdle();
    }
    auto connection = Connect(deadline);
    if (!connection) return tl::unexpected(connection.error());
    auto replies = RunOn(std::move(*connection), commands, deadline);
    if (!replies && replies.error().code == ErrorCode::kInternal) {
      return Fail(ErrorCode::kUnavailable, replies.error().message);
    }
    return replies;
  }

  void Cancel() override {
    cancelled_ = true;
    const std::lock_guard lock(mutex_);
    for (const int socket : busy_) ::shutdown(socket, SHUT_RDWR);
  }

 private:
  // kInternal: the connection broke.
  Error ErrorOf(const redisContext& context) const {
    const std::string where = options_.host + ":" + std::to_string(options_.port) + ": ";
    const bool late = context.err == REDIS_ERR_TIMEOUT ||
                      (context.err == REDIS_ERR_IO && (errno == EAGAIN || errno == EWOULDBLOCK));
    if (late) return {ErrorCode::kTimedOut, where + "it did not answer in time"};
    return {ErrorCode::kInternal, where + context.errstr};
  }

  Connection TakeIdle() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return nullptr;
    Connection taken = std::move(idle_.back());
    idle_.pop_back();
    return taken;
  }
  void DropIdle() {
    const std::lock_guard lock(mutex_);
    idle_.clear();
  }

  Result<Connection> Connect(Deadline deadline) {
    if (cancelled_) return Fail(ErrorCode::kUnavailable, "the call was cancelled");
    const double ms = std::min(MsUntil(deadline), kConnectMsMax);
    if (ms <= 0) return Fail(ErrorCode::kTimedOut, "no time was left to connect");
    Connection connection(
        redisConnectWithTimeout(options_.host.c_str(), options_.port, TimeOf(ms)));
    if (connection == nullptr) return Fail(ErrorCode::kUnavailable, "out of memory");
    if (connection->err != 0) return Broken(*connection);
    redisSetTimeout(connection.get(), TimeOf(MsUntil(deadline)));
    if (tls_ != nullptr) {
      if (Status begun = BeginTls(connection.get()); !begun) return tl::unexpected(begun.error());
    }
    if (options_.password.empty()) return connection;
    const std::string name = "AUTH";
    Command command = {BytesOf(name)};
    if (!options_.user.empty()) command.push_back(BytesOf(options_.user));
    command.push_back(BytesOf(options_.password));
    const auto replies = Exchange(connection.get(), {command}, deadline);
    if (!replies) return tl::unexpected(replies.error());
    return connection;
  }

  tl::unexpected<Error> Broken(const redisContext& context) const {
    const Error error = ErrorOf(context);
    return Fail(error.code == ErrorCode::kInternal ? ErrorCode::kUnavailable : error.code,
                error.message);
  }

  // Verifies the certificate and its name, which hiredis' own contexts do not.
  Status BeginTls(redisContext* connection) const {
    SSL* const tls = SSL_new(tls_.get());
    if (tls == nullptr) return Fail(ErrorCode::kUnavailable, "out of memory");
    X509_VERIFY_PARAM* const checks = SSL_get0_param(tls);
    const std::string& host = options_.host;
    const bool is_address = X509_VERIFY_PARAM_set1_ip_asc(checks, host.c_str()) == 1;
    const bool named = is_address || (SSL_set1_host(tls, host.c_str()) == 1 &&
                                      SSL_set_tlsext_host_name(tls, host.c_str()) == 1);
    // The connection owns `tls` once this succeeds.
    if (!named || redisInitiateSSL(connection, tls) != REDIS_OK) {
      SSL_free(tls);
      const std::string why = connection->err != 0 ? connection->errstr : "its name is no host's";
      return Fail(ErrorCode::kUnavailable, host + ": TLS: " + why);
    }
    return {};
  }

  Result<std::vector<ValkeyReply>> RunOn(Connection connection,
                                         const std::vector<Command>& commands, Deadline deadline) {
    auto replies = Exchange(connection.get(), commands, deadline);
    // After an error reply the rest of the replies has been read as well.
    if (connection->err != 0) return replies;
    const std::lock_guard lock(mutex_);
    if (idle_.size() < kIdleMax) idle_.push_back(std::move(connection));
    return replies;
  }

  // While it lives, Cancel ends the calls on the connection.
  class Cancellable {
   public:
    Cancellable(HiredisClient* client, int socket) : client_(client), socket_(socket) {
      const std::lock_guard lock(client_->mutex_);
      client_->busy_.insert(socket_);
    }
    ~Cancellable() {
      const std::lock_guard lock(client_->mutex_);
      client_->busy_.erase(socket_);
    }
    Cancellable(const Cancellable&) = delete;
    Cancellable& operator=(const Cancellable&) = delete;

   private:
    HiredisClient* const client_;
    const int socket_;
  };

  Result<std::vector<ValkeyReply>> Exchange(redisContext* connection,
                                            const std::vector<Command>& commands,
                                            Deadline deadline) {
    const Cancellable cancellable(this, connection->fd);
    for (const Command& command : commands) {
      std::vector<const char*> arguments;
      std::vector<size_t> sizes;
      for (const ByteSpan argument : command) {
        arguments.push_back(reinterpret_cast<const char*>(argument.data()));
        sizes.push_back(argument.size());
      }
      if (redisAppendCommandArgv(connection, static_cast<int>(arguments.size()), arguments.data(),
                                 sizes.data()) != REDIS_OK) {
        return tl::unexpected(ErrorOf(*connection));
      }
    }
    std::vector<ValkeyReply> replies;
    std::optional<Error> failed;
    for (size_t i = 0; i < commands.size(); ++i) {
      const double ms = std::min(MsUntil(deadline), kStallMsMax);
      if (ms <= 0 || cancelled_) {
        connection->err = REDIS_ERR_TIMEOUT;
        return Fail(ErrorCode::kTimedOut, options_.host + ": it did not answer in time");
      }
      redisSetTimeout(connection, TimeOf(ms));
      void* reply = nullptr;
      if (redisGetReply(connection, &reply) != REDIS_OK) {
        return tl::unexpected(ErrorOf(*connection));
      }
      const std::unique_ptr<void, FreeReply> owner(reply);
      const auto& got = *static_cast<const redisReply*>(reply);
      if (got.type == REDIS_REPLY_ERROR && !failed) failed = ErrorOfReply({got.str, got.len});
      replies.push_back(Copy(got));
    }
    if (failed) return tl::unexpected(*failed);
    return replies;
  }

  const ValkeyOptions options_;
  const std::unique_ptr<SSL_CTX, FreeSsl> tls_;  // null without TLS
  std::atomic<bool> cancelled_{false};
  std::mutex mutex_;
  std::vector<Connection> idle_;  // guarded by mutex_
  std::set<int> busy_;            // sockets of calls, guarded by mutex_
};

}  // namespace

Status ParseValkeyCredentials(std::string_view text, ValkeyOptions* options) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  if (text.empty() || text.find('\n') != std::string_view::npos) {
    return Fail(ErrorCode::kInvalidArgument,
                "expected one line, USER:PASSWORD or a password alone");
  }
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    options->password = text;
    return {};
  }
  options->user = text.substr(0, colon);
  options->password = text.substr(colon + 1);
  return {};
}

Result<std::unique_ptr<ValkeyClient>> ValkeyClient::Make(const ValkeyOptions& options) {
  std::unique_ptr<SSL_CTX, FreeSsl> tls;
  if (options.tls) {
    tls.reset(SSL_CTX_new(TLS_client_method()));
    if (tls == nullptr) return Fail(ErrorCode::kUnavailable, "out of memory");
    SSL_CTX_set_verify(tls.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_min_proto_version(tls.get(), TLS1_2_VERSION);
    const int loaded = options.ca_file.empty() ? SSL_CTX_set_default_verify_paths(tls.get())
                                               : SSL_CTX_load_verify_locations(
                                                     tls.get(), options.ca_file.c_str(), nullptr);
    if (loaded != 1) {
      return Fail(ErrorCode::kInvalidArgument,
                  "\"" + options.ca_file + "\": expected certificates of authorities in PEM form");
    }
  }
  return std::make_unique<HiredisClient>(options, std::move(tls));
}

}  // namespace cairn
