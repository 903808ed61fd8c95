// For tests: a client that handles TLS and leaves everything else to the test, as RawClient does.

#ifndef CAIRN_TESTING_HTTP_TLS_CLIENT_H_
#define CAIRN_TESTING_HTTP_TLS_CLIENT_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "base/check.h"
#include "http/tls.h"
#include "testing/base/made_certificate.h"

namespace cairn::test {

// Returns a certificate for tests to which it does not matter, made once per process.
inline std::shared_ptr<TlsCertificate> AnyCertificate() {
  static const std::shared_ptr<TlsCertificate> certificate = [] {
    const MadeCertificate made = MakeCertificate("localhost");
    const std::string begin = testing::TempDir() + "cairn_" + std::to_string(getpid());
    std::ofstream(begin + "_any.crt") << made.certificate;
    std::ofstream(begin + "_any.key") << made.key;
    auto loaded = TlsCertificate::Load(begin + "_any.crt", begin + "_any.key");
    CHECK(loaded.has_value());
    unlink((begin + "_any.crt").c_str());
    unlink((begin + "_any.key").c_str());
    return *loaded;
  }();
  return certificate;
}

// One connection. The handshake happens with the first Send or read, or in Handshake().
class TlsClient {
 public:
  struct Options {
    int version_max = 0;    // TLS1_1_VERSION …; 0: the newest that OpenSSL supports
    std::string protocols;  // for ALPN, each preceded by its length
  };

  explicit TlsClient(int port) : TlsClient(port, Options{}) {}
  TlsClient(int port, const Options& options)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    signal(SIGPIPE, SIG_IGN);  // OpenSSL's writes may raise it
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    context_ = SSL_CTX_new(TLS_client_method());
    if (options.version_max != 0) {
      // Otherwise OpenSSL would not even offer the old versions.
      SSL_CTX_set_security_level(context_, 0);
      SSL_CTX_set_cipher_list(context_, "ALL:@SECLEVEL=0");
      SSL_CTX_set_min_proto_version(context_, 0);
      SSL_CTX_set_max_proto_version(context_, options.version_max);
    }
    ssl_ = SSL_new(context_);
    if (!options.protocols.empty()) {
      SSL_set_alpn_protos(ssl_, reinterpret_cast<const unsigned char*>(options.protocols.data()),
                          static_cast<unsigned>(options.protocols.size()));
    }
    SSL_set_fd(ssl_, fd_);
    SSL_set_connect_state(ssl_);
  }
  ~TlsClient() {
    Close();
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  bool connected() const { return connected_; }
  bool Handshake() { return SSL_do_handshake(ssl_) == 1; }
  std::string version() const { return SSL_get_version(ssl_); }
  std::string protocol() const {
    const unsigned char* chosen = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_, &chosen, &size);
    return {reinterpret_cast<const char*>(chosen), size};
  }
  // The name in the server's certificate.
  std::string name() const {
    const X509* const shown = SSL_get0_peer_certificate(ssl_);
    if (shown == nullptr) return "";
    char text[256] = "";
    X509_NAME_oneline(X509_get_subject_name(shown), text, sizeof(text));
    return text;
  }

  // Closes the socket without a TLS close notification.
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

  // Returns false if the server accepts no more bytes.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const int n = SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()));
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }

  // Reads until the received bytes contain `text`; returns false if the connection ends before.
  bool ReadUntil(std::string_view text) {
    while (received_.find(text) == std::string::npos) {
      if (!ReadSome()) return false;
    }
    return true;
  }

  // Reads to the end of the connection and returns all received bytes.
  const std::string& ReadAll() {
    while (ReadSome()) {
    }
    return received_;
  }

  // Reads everything and returns whether the server has closed the connection.
  bool AtEnd() {
    while (ReadSome()) {
    }
    return ended_;
  }
  // Whether the server sent a TLS close notification.
  bool WasToldOfTheEnd() const { return (SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN) != 0; }

  const std::string& received() const { return received_; }
  void Forget() { received_.clear(); }

 private:
  static constexpr int kPatienceMs = 20'000;

  bool ReadSome() {
    pollfd poll_fd = {fd_, POLLIN, 0};
    // Before the handshake the client sends first.
    const bool waits = SSL_is_init_finished(ssl_) == 1 && SSL_pending(ssl_) == 0;
    if (waits && poll(&poll_fd, 1, kPatienceMs) <= 0) return false;
    char buffer[4096];
    const int n = SSL_read(ssl_, buffer, sizeof(buffer));
    if (n > 0) received_.append(buffer, static_cast<size_t>(n));
    if (n <= 0) ended_ = true;
    return n > 0;
  }

  int fd_;
  bool connected_ = false;
  bool ended_ = false;
  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
  std::string received_;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_HTTP_TLS_CLIENT_H_
