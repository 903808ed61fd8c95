#include "http/connections/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/fs.h"

namespace cairn {
namespace {

constexpr std::string_view kProtocol = "http/1.1";

using ContextPtr = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;

// Returns OpenSSL's first error text and clears its error queue.
std::string TakeComplaint() {
  const unsigned long error = ERR_get_error();
  ERR_clear_error();
  const char* const reason = ERR_reason_error_string(error);
  return reason == nullptr ? "unknown error" : reason;
}

// A BIO on the socket. OpenSSL's own would block where a socket does, and raise SIGPIPE.
int SocketOf(BIO* bio) {
  return *static_cast<const int*>(BIO_get_data(bio));
}

bool IsPassing(int error) {
  return error == EAGAIN || error == EINTR;
}

int ReadSocket(BIO* bio, char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t n = recv(SocketOf(bio), bytes, static_cast<size_t>(size), MSG_DONTWAIT);
  if (n < 0 && IsPassing(errno)) BIO_set_retry_read(bio);
  return static_cast<int>(n);
}

int WriteSocket(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t n =
      send(SocketOf(bio), bytes, static_cast<size_t>(size), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n < 0 && IsPassing(errno)) BIO_set_retry_write(bio);
  return static_cast<int>(n);
}

long ControlSocket(BIO*, int command, long, void*) {
  return command == BIO_CTRL_FLUSH ? 1 : 0;  // nothing is buffered
}

BIO_METHOD* SocketMethod() {
  static BIO_METHOD* const method = [] {
    BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    CHECK(made != nullptr);
    BIO_meth_set_read(made, ReadSocket);
    BIO_meth_set_write(made, WriteSocket);
    BIO_meth_set_ctrl(made, ControlSocket);
    return made;
  }();
  return method;
}

class OpenSslLayer final : public TlsLayer {
 public:
  // Takes ownership of `ssl`; `socket` is the BIO that it reads and writes through.
  OpenSslLayer(SSL* ssl, BIO* socket, int fd) : ssl_(ssl), fd_(fd) { BIO_set_data(socket, &fd_); }
  ~OpenSslLayer() override { SSL_free(ssl_); }
  OpenSslLayer(const OpenSslLayer&) = delete;
  OpenSslLayer& operator=(const OpenSslLayer&) = delete;

  ssize_t Read(char* bytes, size_t size) override {
    ERR_clear_error();
    return Done(SSL_read(ssl_, bytes, ToInt(size)));
  }
  ssize_t Write(const char* bytes, size_t size) override {
    ERR_clear_error();
    return Done(SSL_write(ssl_, bytes, ToInt(size)));
  }
  Wants wants() const override { return wants_; }
  bool HasBytes() const override { return SSL_pending(ssl_) > 0; }
  void End() override {
    // OpenSSL must not be used after an error, and before the end of the handshake there is nothing
    // to send.
    if (broken_ || !SSL_is_init_finished(ssl_)) return;
    ERR_clear_error();
    SSL_shutdown(ssl_);
  }
  bool spoke_plain_http() const override { return plain_http_; }

 private:
  static int ToInt(size_t size) { return static_cast<int>(std::min<size_t>(size, INT_MAX)); }

  ssize_t Done(int n) {
    wants_ = Wants::kNothing;
    if (n > 0) return n;
    switch (SSL_get_error(ssl_, n)) {
      case SSL_ERROR_WANT_READ:
        wants_ = Wants::kReadable;
        return -1;
      case SSL_ERROR_WANT_WRITE:
        wants_ = Wants::kWritable;
        return -1;
      case SSL_ERROR_ZERO_RETURN:
        return 0;
      default:
        broken_ = true;
        plain_http_ = ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST;
        ERR_clear_error();
        return -1;
    }
  }

  SSL* const ssl_;
  int fd_;
  Wants wants_ = Wants::kNothing;
  bool broken_ = false;
  bool plain_http_ = false;
};

// A client that offers protocols without ours would not understand the answer.
int ChooseProtocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                   const unsigned char* offered, unsigned int offered_size, void*) {
  for (unsigned int at = 0; at < offered_size; at += 1U + offered[at]) {
    const std::string_view name(
        reinterpret_cast<const char*>(offered) + at + 1,
        std::min(static_cast<unsigned int>(offered[at]), offered_size - at - 1));
    if (name != kProtocol) continue;
    *chosen = offered + at + 1;
    *chosen_size = static_cast<unsigned char>(name.size());
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

// No person is at the terminal to enter one.
int NoPassphrase(char*, int, int, void*) {
  return -1;
}

Status Wrong(const std::string& flag, const std::string& file, const std::string& what) {
  return Fail(ErrorCode::kInvalidArgument, flag + " '" + file + "': " + what);
}

Status UseFiles(SSL_CTX* context, const std::string& certificate_file,
                const std::string& key_file) {
  for (const auto& [flag, file] : {std::pair{"--ssl-cert-file ", &certificate_file},
                                   std::pair{"--ssl-key-file ", &key_file}}) {
    const auto text = ReadFile(*file);
    if (!text) return Fail(text.error().code, flag + text.error().message);
  }
  if (SSL_CTX_use_certificate_chain_file(context, certificate_file.c_str()) != 1) {
    return Wrong("--ssl-cert-file", certificate_file,
                 "it holds no usable certificate in PEM form (" + TakeComplaint() + ")");
  }
  if (SSL_CTX_use_PrivateKey_file(context, key_file.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1) {
    const bool mismatched = ERR_GET_REASON(ERR_peek_error()) == X509_R_KEY_VALUES_MISMATCH;
    const std::string complaint = TakeComplaint();
    return Wrong("--ssl-key-file", key_file,
                 mismatched ? "it is not the key of the certificate in '" + certificate_file + "'"
                            : "it holds no private key in PEM form without a passphrase (" +
                                  complaint + ")");
  }
  return {};
}

}  // namespace

// The state shared by all connections accepted while these files were loaded.
class TlsCertificate::Context {
 public:
  explicit Context(ContextPtr context) : context_(std::move(context)) {}
  SSL_CTX* get() const { return context_.get(); }

 private:
  const ContextPtr context_;
};

Result<std::shared_ptr<const TlsCertificate::Context>> TlsCertificate::Read(
    const std::string& certificate_file, const std::string& key_file) {
  ERR_clear_error();
  ContextPtr context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (context == nullptr) {
    return Fail(ErrorCode::kInternal, "OpenSSL cannot be used: " + TakeComplaint());
  }
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION);
  // Allows partial writes, and the rest to be at another address.
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_alpn_select_cb(context.get(), ChooseProtocol, nullptr);
  SSL_CTX_set_default_passwd_cb(context.get(), NoPassphrase);
  if (Status used = UseFiles(context.get(), certificate_file, key_file); !used) {
    return tl::unexpected(used.error());
  }
  return std::make_shared<const Context>(std::move(context));
}

TlsCertificate::TlsCertificate(std::string certificate_file, std::string key_file,
                               std::shared_ptr<const Context> context)
    : certificate_file_(std::move(certificate_file)),
      key_file_(std::move(key_file)),
      context_(std::move(context)) {}

Result<std::shared_ptr<TlsCertificate>> TlsCertificate::Load(std::string certificate_file,
                                                             std::string key_file) {
  auto context = Read(certificate_file, key_file);
  if (!context) return tl::unexpected(context.error());
  return std::shared_ptr<TlsCertificate>(
      new TlsCertificate(std::move(certificate_file), std::move(key_file), std::move(*context)));
}

Status TlsCertificate::Reload() {
  auto context = Read(certificate_file_, key_file_);
  if (!context) return tl::unexpected(context.error());
  const MutexLock lock(mutex_);
  context_ = std::move(*context);
  return {};
}

std::unique_ptr<TlsLayer> TlsCertificate::Accept(int fd) const {
  std::shared_ptr<const Context> context;
  {
    const MutexLock lock(mutex_);
    context = context_;
  }
  BIO* const socket = BIO_new(SocketMethod());
  if (socket == nullptr) return nullptr;
  BIO_set_init(socket, 1);
  SSL* const ssl = SSL_new(context->get());
  if (ssl == nullptr) {
    BIO_free(socket);
    return nullptr;
  }
  SSL_set_bio(ssl, socket, socket);
  SSL_set_accept_state(ssl);
  return std::make_unique<OpenSslLayer>(ssl, socket, fd);
}

}  // namespace cairn
