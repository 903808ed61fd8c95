#include "fleet/remote/valkey/valkey_client.h"

#include <hiredis/hiredis.h>
#include <hiredis/hiredis_ssl.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <functional>
#include <new>
#include <optional>
#include <set>
#include <utility>

#include "base/mutex.h"

namespace cairn {
namespace {

constexpr size_t kIdleConnectionsMax = 8;
constexpr double kConnectMsMax = 2000;
// A server that sends nothing for this long has hung.
constexpr double kStallMsMax = 3000;
// The replies to a batch: four chunks of an object, or the index entries of a long prompt's blocks.
constexpr size_t kBatchBytesMax = size_t{64} << 20;
constexpr size_t kBatchValuesMax = size_t{1} << 20;
// A page of SCAN is a list in a list.
constexpr int kDepthMax = 4;

struct FreeContext {
  void operator()(redisContext* context) const { redisFree(context); }
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

// The rest of a batch's limits, and why a reply was refused.
struct Budget {
  size_t bytes = kBatchBytesMax;
  size_t values = kBatchValuesMax;
  const char* refused = nullptr;
};

int DepthOf(const redisReadTask* task) {
  int depth = 0;
  for (; task->parent != nullptr && depth <= kDepthMax; task = task->parent) ++depth;
  return depth;
}

// Adds a value to the reply that hiredis is reading. Returns null, which ends the reading, if it
// may not be.
void* Put(const redisReadTask* task, ValkeyReply::Type type, int64_t number,
          std::string_view text) noexcept {
  auto* const budget = static_cast<Budget*>(task->privdata);
  const auto refuse = [budget](const char* why) {
    budget->refused = why;
    return nullptr;
  };
  if (DepthOf(task) > kDepthMax) return refuse("lists in lists that no server sends");
  if (budget->values == 0) return refuse("more values than any batch has");
  --budget->values;
  try {
    ValkeyReply value;
    value.type = type;
    value.number = number;
    value.text.assign(text.begin(), text.end());
    if (task->parent == nullptr) return new ValkeyReply(std::move(value));
    // Whatever length was announced, the list grows with what arrives. hiredis keeps pointers to
    // the lists around this value, and those do not grow meanwhile.
    return &static_cast<ValkeyReply*>(task->parent->obj)->list.emplace_back(std::move(value));
  } catch (const std::bad_alloc&) {
    return refuse("out of memory");
  }
}

void* PutText(const redisReadTask* task, char* text, size_t size) {
  const bool is_error = task->type == REDIS_REPLY_ERROR;
  return Put(task, is_error ? ValkeyReply::Type::kError : ValkeyReply::Type::kText, 0,
             {text, size});
}
void* PutList(const redisReadTask* task, size_t /*announced*/) {
  return Put(task, ValkeyReply::Type::kList, 0, {});
}
void* PutNumber(const redisReadTask* task, long long number) {
  return Put(task, ValkeyReply::Type::kNumber, number, {});
}
void* PutDouble(const redisReadTask* task, double /*number*/, char* /*text*/, size_t /*size*/) {
  return Put(task, ValkeyReply::Type::kNil, 0, {});
}
void* PutNil(const redisReadTask* task) {
  return Put(task, ValkeyReply::Type::kNil, 0, {});
}
void* PutBool(const redisReadTask* task, int value) {
  return Put(task, ValkeyReply::Type::kNumber, value, {});
}
void Drop(void* reply) {
  delete static_cast<ValkeyReply*>(reply);
}

// hiredis' own functions make lists of the announced length, and free nested ones by recursion.
redisReplyObjectFunctions reply_functions = {PutText, PutList, PutNumber, PutDouble,
                                             PutNil,  PutBool, Drop};

// Reads the replies to one batch from a connection, which outlives it.
class ReplyReader {
 public:
  explicit ReplyReader(redisContext* connection) : connection_(connection) {
    connection_->reader->fn = &reply_functions;
    connection_->reader->privdata = &budget_;
  }
  ~ReplyReader() { connection_->reader->privdata = nullptr; }
  ReplyReader(const ReplyReader&) = delete;
  ReplyReader& operator=(const ReplyReader&) = delete;

  // Returns the next reply. `may_read` is asked before each wait; its error is returned. kInternal:
  // the connection broke. kUnavailable: it is no reply of a server. After an error the connection
  // is of no more use.
  Result<ValkeyReply> Next(const std::function<Status()>& may_read) {
    while (true) {
      void* reply = nullptr;
      // Not redisGetReply, which takes a push message apart as one of hiredis' own objects.
      if (redisReaderGetReply(connection_->reader, &reply) != REDIS_OK) {
        return Refuse(budget_.refused != nullptr ? budget_.refused : connection_->reader->errstr);
      }
      if (reply != nullptr) {
        const std::unique_ptr<ValkeyReply> owner(static_cast<ValkeyReply*>(reply));
        return std::move(*owner);
      }
      if (Status may = may_read(); !may) return tl::unexpected(may.error());
      const size_t before = connection_->reader->len;
      if (redisBufferRead(connection_) != REDIS_OK) {
        return Fail(ErrorCode::kInternal, "the connection broke");
      }
      const size_t received = connection_->reader->len - before;
      if (received > budget_.bytes) return Refuse("more bytes than any batch has");
      budget_.bytes -= received;
    }
  }

 private:
  tl::unexpected<Error> Refuse(const std::string& why) {
    if (connection_->err == 0) connection_->err = REDIS_ERR_PROTOCOL;
    return Fail(ErrorCode::kUnavailable, "its answer makes no sense: " + why);
  }

  redisContext* const connection_;
  Budget budget_;
};

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
    const MutexLock lock(mutex_);
    for (const int socket : busy_) ::shutdown(socket, SHUT_RDWR);
  }

 private:
  std::string Where() const { return options_.host + ":" + std::to_string(options_.port) + ": "; }
  // kInternal: the connection broke.
  Error ErrorOf(const redisContext& context) const {
    const std::string where = Where();
    const bool late = context.err == REDIS_ERR_TIMEOUT ||
                      (context.err == REDIS_ERR_IO && (errno == EAGAIN || errno == EWOULDBLOCK));
    if (late) return {ErrorCode::kTimedOut, where + "it did not answer in time"};
    return {ErrorCode::kInternal, where + context.errstr};
  }

  Connection TakeIdle() {
    const MutexLock lock(mutex_);
    if (idle_.empty()) return nullptr;
    Connection taken = std::move(idle_.back());
    idle_.pop_back();
    return taken;
  }
  void DropIdle() {
    const MutexLock lock(mutex_);
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
    const MutexLock lock(mutex_);
    if (idle_.size() < kIdleConnectionsMax) idle_.push_back(std::move(connection));
    return replies;
  }

  // While it lives, Cancel ends the calls on the connection.
  class Cancellable {
   public:
    Cancellable(HiredisClient* client, int socket) : client_(client), socket_(socket) {
      const MutexLock lock(client_->mutex_);
      client_->busy_.insert(socket_);
    }
    ~Cancellable() {
      const MutexLock lock(client_->mutex_);
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
    const auto may_wait = [&]() -> Status {
      const double ms = std::min(MsUntil(deadline), kStallMsMax);
      if (ms <= 0 || cancelled_) {
        connection->err = REDIS_ERR_TIMEOUT;
        return Fail(ErrorCode::kTimedOut, Where() + "it did not answer in time");
      }
      redisSetTimeout(connection, TimeOf(ms));
      return {};
    };
    for (int sent = 0; sent == 0;) {
      if (Status may = may_wait(); !may) return tl::unexpected(may.error());
      if (redisBufferWrite(connection, &sent) != REDIS_OK) {
        return tl::unexpected(ErrorOf(*connection));
      }
    }
    return ReadReplies(connection, commands.size(), may_wait);
  }

  Result<std::vector<ValkeyReply>> ReadReplies(redisContext* connection, size_t count,
                                               const std::function<Status()>& may_wait) const {
    ReplyReader reader(connection);
    std::vector<ValkeyReply> replies;
    std::optional<Error> failed;
    for (size_t i = 0; i < count; ++i) {
      auto reply = reader.Next(may_wait);
      if (!reply && reply.error().code == ErrorCode::kInternal) {
        return tl::unexpected(ErrorOf(*connection));
      }
      if (!reply) return Fail(reply.error().code, Where() + reply.error().message);
      if (reply->type == ValkeyReply::Type::kError && !failed) {
        failed =
            ErrorOfReply({reinterpret_cast<const char*>(reply->text.data()), reply->text.size()});
      }
      replies.push_back(*std::move(reply));
    }
    if (failed) return tl::unexpected(*failed);
    return replies;
  }

  const ValkeyOptions options_;
  const std::unique_ptr<SSL_CTX, FreeSsl> tls_;  // null without TLS
  std::atomic<bool> cancelled_{false};
  Mutex mutex_;
  std::vector<Connection> idle_ GUARDED_BY(mutex_);
  std::set<int> busy_ GUARDED_BY(mutex_);  // sockets of calls
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
