// For tests: a client that handles TLS and leaves everything else to the test, as RawClient does.

#ifndef CAIRN_TESTING_HTTP_TLS_CLIENT_H_
#define CAIRN_TESTING_HTTP_TLS_CLIENT_H_

#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "base/check.h"
#include "http/connections/tls.h"
#include "testing/base/made_certificate.h"
#include "testing/http/test_connection.h"

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

// One connection. The handshake happens with the first Send or read, or in Handshake(). Close()
// sends no close notification of TLS.
class TlsClient final : public TestConnection {
 public:
  struct Options {
    int version_max = 0;    // TLS1_1_VERSION …; 0: the newest that OpenSSL supports
    std::string protocols;  // for ALPN, each preceded by its length
  };

  explicit TlsClient(int port) : TlsClient(port, Options{}) {}
  TlsClient(int port, const Options& options) : TestConnection(port) {
    signal(SIGPIPE, SIG_IGN);  // OpenSSL's writes may raise it
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
    SSL_set_fd(ssl_, fd());
    SSL_set_connect_state(ssl_);
  }
  ~TlsClient() override {
    Close();
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }

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

  // Whether the server sent a TLS close notification.
  bool WasToldOfTheEnd() const { return (SSL_get_shutdown(ssl_) & SSL_RECEIVED_SHUTDOWN) != 0; }

 protected:
  ssize_t Write(std::string_view bytes) override {
    return SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()));
  }
  ssize_t Read(char* buffer, size_t bytes_max) override {
    return SSL_read(ssl_, buffer, static_cast<int>(bytes_max));
  }
  // Before the handshake the client sends first.
  bool WaitsForSocket() const override {
    return SSL_is_init_finished(ssl_) == 1 && SSL_pending(ssl_) == 0;
  }

 private:
  SSL_CTX* context_ = nullptr;
  SSL* ssl_ = nullptr;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_HTTP_TLS_CLIENT_H_
