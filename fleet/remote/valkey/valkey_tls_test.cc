// On a real server with a certificate.

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <string>

#include "base/fs.h"
#include "fleet/remote/valkey/valkey_store.h"
#include "testing/base/made_certificate.h"
#include "testing/remote/real_server.h"

namespace cairn {
namespace {

class ValkeyTlsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (test::ValkeyProgram().empty()) GTEST_SKIP() << test::kNoValkey;
  }
  // A server whose certificate has this name; `certificate_` is then its authority as well.
  void Start(const std::string& name) {
    const test::MadeCertificate made = test::MakeCertificate(name);
    std::ofstream(certificate_) << made.certificate;
    std::ofstream(key_) << made.key;
    const uint16_t port = test::FreePort();
    server_ = std::make_unique<test::RealServer>(
        test::ValkeyCommand(0, {"--tls-port", std::to_string(port), "--tls-cert-file", certificate_,
                                "--tls-key-file", key_, "--tls-auth-clients", "no"}),
        port);
    if (server_->WaitUntilListening(20)) return;
    const std::string log = ReadFile(server_->folder() + "/log").value_or("");
    if (log.find(">>> 'tls-port") != std::string::npos) {
      GTEST_SKIP() << test::ValkeyProgram() << " is built without TLS";
    }
    FAIL() << log;
  }
  Status Put(const std::string& ca_file) {
    ValkeyOptions options;
    options.host = "localhost";
    options.port = server_->port();
    options.tls = true;
    options.ca_file = ca_file;
    const auto client = *ValkeyClient::Make(options);
    return MakeValkeyObjects(client.get(), 100)->Put("v1/x", Bytes(10, 1), DeadlineIn(10'000));
  }

  const std::string files_ = testing::TempDir() + "valkey_tls_" + std::to_string(getpid());
  const std::string certificate_ = files_ + ".crt";
  const std::string key_ = files_ + ".key";
  std::unique_ptr<test::RealServer> server_;
};

TEST_F(ValkeyTlsTest, ServerWithATrustedCertificateIsUsed) {
  ASSERT_NO_FATAL_FAILURE(Start("localhost"));
  if (IsSkipped()) return;
  const Status put = Put(certificate_);
  EXPECT_TRUE(put) << put.error().message;
}

TEST_F(ValkeyTlsTest, ServerWithAnotherAuthorityIsRefused) {
  ASSERT_NO_FATAL_FAILURE(Start("localhost"));
  if (IsSkipped()) return;
  const std::string other = files_ + "_other.crt";
  std::ofstream(other) << test::MakeCertificate("localhost").certificate;
  for (const std::string& ca_file : {other, std::string()}) {
    const Status put = Put(ca_file);
    ASSERT_FALSE(put) << ca_file;
    EXPECT_EQ(put.error().code, ErrorCode::kUnavailable);
    EXPECT_NE(put.error().message.find("certificate"), std::string::npos) << put.error().message;
  }
}

TEST_F(ValkeyTlsTest, ServerWithAnotherNameIsRefused) {
  ASSERT_NO_FATAL_FAILURE(Start("cache.example.org"));
  if (IsSkipped()) return;
  const Status put = Put(certificate_);
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace cairn
