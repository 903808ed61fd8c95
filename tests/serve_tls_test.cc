// HTTPS of the real program: a chat and a stream, certificates that are reloaded, and invalid
// files.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "served.h"
#include "testing/http/tls_client.h"

namespace cairn {
namespace {

using test::MadeCertificate;
using test::MakeCertificate;
using test::TlsClient;

class ServeTlsTest : public test::ServedTest {
 protected:
  void Write(const MadeCertificate& made) const {
    std::ofstream(certificate_) << made.certificate;
    std::ofstream(key_) << made.key;
    std::filesystem::permissions(key_, std::filesystem::perms::owner_all);
  }
  std::string Chat(const std::string& more) const {
    const std::string body =
        R"({"messages": [{"role": "user", "content": "hello"}], "max_tokens": 5)" + more + "}";
    TlsClient client(server_->port());
    client.Send("POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" +
                ("Content-Length: " + std::to_string(body.size())) + "\r\n\r\n" + body);
    return client.ReadAll();
  }
  std::string NameShown() const {
    TlsClient client(server_->port());
    EXPECT_TRUE(client.Handshake());
    return client.name();
  }
  // Returns the output of a start that must fail.
  std::string Complaint() const {
    const std::string command = std::string(CAIRN_PROGRAM) + " serve -m nothing.gguf" +
                                " --ssl-cert-file " + certificate_ + " --ssl-key-file " + key_ +
                                " >" + log_ + " 2>&1";
    EXPECT_NE(std::system(command.c_str()), 0);
    return Log();
  }

  const std::string certificate_ = files_ + "/crt";
  const std::string key_ = files_ + "/key";
};

TEST_F(ServeTlsTest, ChatsStreamsAndReadsItsCertificateAgain) {
  Write(MakeCertificate("first"));
  Serve(
      {"--cache-disk", "0", "--no-warm", "--ssl-cert-file", certificate_, "--ssl-key-file", key_});
  EXPECT_NE(Log().find(": https://127.0.0.1:"), std::string::npos) << Log();
  EXPECT_TRUE(Chat("").starts_with("HTTP/1.1 200 OK\r\n"));
  const std::string stream = Chat(R"(, "stream": true)");
  EXPECT_NE(stream.find("data: [DONE]"), std::string::npos) << stream;
  EXPECT_EQ(NameShown(), "/CN=first");
  std::ofstream(key_) << MakeCertificate("other").key;
  Hup("keeping the previous certificate: --ssl-key-file");
  EXPECT_EQ(NameShown(), "/CN=first");
  Write(MakeCertificate("second"));
  Hup("reloaded the certificate");
  EXPECT_EQ(NameShown(), "/CN=second");
  EXPECT_EQ(server_->Stop(), 0);
}

TEST_F(ServeTlsTest, SaysAtOnceWhatIsWrongWithItsFiles) {
  EXPECT_NE(Complaint().find("--ssl-cert-file '" + certificate_ + "'"), std::string::npos) << Log();
  Write({MakeCertificate("first").certificate, MakeCertificate("second").key});
  EXPECT_NE(Complaint().find("it is not the key of the certificate"), std::string::npos) << Log();
  const std::string command = std::string(CAIRN_PROGRAM) + " serve -m nothing.gguf" +
                              " --ssl-key-file " + key_ + " >" + log_ + " 2>&1";
  EXPECT_NE(std::system(command.c_str()), 0);
  EXPECT_NE(Log().find("--ssl-key-file needs --ssl-cert-file"), std::string::npos) << Log();
}

}  // namespace
}  // namespace cairn
