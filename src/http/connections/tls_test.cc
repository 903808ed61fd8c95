// Tests TLS. The tests in server_test.cc and server_stream_test.cc also run under TLS, in the same
// program; these are the ones that only concern TLS.

#include "http/connections/tls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "http/http_client.h"
#include "testing/http/server_fixture.h"

namespace cairn {
namespace {

using test::MadeCertificate;
using test::MakeCertificate;
using test::TlsClient;

class TlsTest : public HttpServerTest {
 protected:
  TlsTest() {
    for (const std::string& path : {certificate_, key_}) unlink(path.c_str());
  }
  ~TlsTest() override {
    for (const std::string& path : {certificate_, key_}) unlink(path.c_str());
  }

  void Write(const MadeCertificate& made) const {
    std::ofstream(certificate_) << made.certificate;
    std::ofstream(key_) << made.key;
  }
  std::string LoadComplaint() const {
    const auto loaded = TlsCertificate::Load(certificate_, key_);
    return loaded ? "" : loaded.error().message;
  }
  void ServeText() {
    MakeServer().Handle("GET", "/", [](const HttpRequest&) { return Text("served"); });
    StartServer();
  }
  std::string NameShown() const {
    TlsClient client(server_->port());
    EXPECT_TRUE(client.Handshake());
    return client.name();
  }

  const std::string begin_ = testing::TempDir() + "cairn_" + std::to_string(getpid()) + "_tls";
  const std::string certificate_ = begin_ + ".crt";
  const std::string key_ = begin_ + ".key";
};

TEST_F(TlsTest, AnswersOneRequestAfterTheOtherAndEndsWithAWord) {
  ServeText();
  TlsClient client(server_->port());
  for (int i = 0; i < 3; ++i) {
    client.Forget();
    ASSERT_TRUE(client.Send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    ASSERT_TRUE(client.ReadUntil("served"));
  }
  // Two requests at once, the second with the end of the connection.
  client.Forget();
  client.Send(
      "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
      "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  const std::string answers = client.ReadAll();
  EXPECT_NE(answers.find("served"), answers.rfind("served"));
  EXPECT_TRUE(client.WasToldOfTheEnd()) << "else a cut answer looks like a whole one";
}

TEST_F(TlsTest, SpeaksNothingOlderThanTls12) {
  ServeText();
  for (const auto& [version, speaks] :
       {std::pair{TLS1_VERSION, false}, {TLS1_1_VERSION, false}, {TLS1_2_VERSION, true}}) {
    TlsClient client(server_->port(), {.version_max = version, .protocols = ""});
    EXPECT_EQ(client.Handshake(), speaks) << version;
    if (speaks) {
      EXPECT_EQ(client.version(), "TLSv1.2");
    }
  }
  TlsClient newest(server_->port());
  ASSERT_TRUE(newest.Handshake());
  EXPECT_EQ(newest.version(), "TLSv1.3");
}

TEST_F(TlsTest, AgreesOnHttp11AndNothingElse) {
  ServeText();
  TlsClient both(server_->port(), {.protocols = std::string("\x02h2\x08http/1.1")});
  ASSERT_TRUE(both.Handshake());
  EXPECT_EQ(both.protocol(), "http/1.1");
  TlsClient newer(server_->port(), {.protocols = std::string("\x02h2")});
  EXPECT_FALSE(newer.Handshake() && newer.Send("x") && newer.ReadUntil("x"));
}

TEST_F(TlsTest, LongBodiesComeAndGoWhole) {
  MakeServer().Handle("POST", "/", [](const HttpRequest& request) { return Text(request.body); });
  StartServer();
  std::string body;
  for (size_t i = 0; body.size() < (3U << 20U); ++i) body += std::to_string(i) + " ";
  EXPECT_TRUE(BodyOf(AskFor("POST", "/", "", body)) == body);
}

TEST_F(TlsTest, NoFileIsFetchedFromAServerWhoseCertificateNobodySigned) {
  ServeText();
  const std::string url = "https://127.0.0.1:" + std::to_string(server_->port()) + "/";
  const auto fetched = FetchUrl(url, 1000, {.connect_timeout_ms = 900});
  ASSERT_FALSE(fetched.has_value());
  EXPECT_EQ(fetched.error().code, ErrorCode::kUnavailable) << fetched.error().message;
}

TEST_F(TlsTest, TellsWhoSpeaksPlainHttpWhatIsWrong) {
  ServeText();
  test::PlainConnection client(server_->port());
  client.Send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const std::string answer = client.ReadAll();
  EXPECT_EQ(StatusOf(answer), 400);
  EXPECT_EQ(BodyOf(answer), "this port speaks TLS: begin the URL with https\n");
  EXPECT_TRUE(client.AtEnd());
}

TEST_F(TlsTest, ClosesOnWhatIsNeither) {
  ServeText();
  for (const std::string& bytes : {std::string(200, '\0'), std::string("\x16\x03\x01\xff\xff\x01"),
                                   std::string("SSH-2.0-x\r\n")}) {
    test::PlainConnection client(server_->port());
    client.Send(bytes + std::string(70'000, 'x'));
    EXPECT_TRUE(client.AtEnd());
    EXPECT_EQ(client.received().find("HTTP/1.1"), std::string::npos);
  }
  EXPECT_EQ(BodyOf(AskFor("GET", "/")), "served");
}

TEST_F(TlsTest, WhoIsSlowWithItsHandshakeIsClosedAsOneWhoIdles) {
  options_.idle_timeout_ms = 300;
  ServeText();
  test::PlainConnection silent(server_->port());
  test::PlainConnection half(server_->port());
  half.Send(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11));
  TlsClient shaken(server_->port());
  ASSERT_TRUE(shaken.Handshake());
  EXPECT_TRUE(silent.AtEnd());
  EXPECT_TRUE(half.AtEnd());
  EXPECT_TRUE(shaken.AtEnd());
}

bool IsServed(TlsClient* client) {
  client->Forget();
  client->Send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  return client->ReadUntil("served");
}

TEST_F(TlsTest, WhoIsSlowWithItsHandshakeMakesRoomForOthers) {
  options_.threads_max = 3;
  options_.spare_threads = 0;
  ServeText();
  test::PlainConnection silent(server_->port());
  test::PlainConnection half(server_->port());
  half.Send(std::string("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11));
  TlsClient shaken(server_->port());
  ASSERT_TRUE(shaken.Handshake());
  // While three new connections are served at once, no earlier one can have a seat.
  EXPECT_TRUE(Eventually([&] {
    std::vector<std::unique_ptr<TlsClient>> kept;
    for (int i = 0; i < 3; ++i) {
      kept.push_back(std::make_unique<TlsClient>(server_->port()));
      if (!IsServed(kept.back().get())) return false;
    }
    return std::all_of(kept.begin(), kept.end(),
                       [](const auto& client) { return IsServed(client.get()); });
  }));
  EXPECT_TRUE(silent.AtEnd());
  EXPECT_TRUE(half.AtEnd());
}

TEST_F(TlsTest, ACertificateThatIsReadAgainIsShownFromTheNextConnectionOn) {
  Write(MakeCertificate("first"));
  const auto loaded = TlsCertificate::Load(certificate_, key_);
  ASSERT_TRUE(loaded.has_value()) << loaded.error().message;
  options_.certificate = *loaded;
  ServeText();
  TlsClient before(server_->port());
  before.Send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_TRUE(before.ReadUntil("served"));
  EXPECT_EQ(NameShown(), "/CN=first");
  const MadeCertificate second = MakeCertificate("second");
  Write({second.certificate, MakeCertificate("other").key});
  EXPECT_FALSE((*loaded)->Reload().has_value());
  EXPECT_EQ(NameShown(), "/CN=first") << "what is wrong changes nothing";
  Write(second);
  EXPECT_TRUE((*loaded)->Reload().has_value());
  EXPECT_EQ(NameShown(), "/CN=second");
  // Existing connections continue.
  before.Forget();
  before.Send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_TRUE(before.ReadUntil("served"));
}

TEST_F(TlsTest, SaysWhichFileIsWrongAndHow) {
  const MadeCertificate made = MakeCertificate("first");
  EXPECT_NE(LoadComplaint().find("--ssl-cert-file '" + certificate_ + "'"), std::string::npos)
      << LoadComplaint();
  Write({made.certificate, ""});
  EXPECT_NE(LoadComplaint().find("--ssl-key-file '" + key_ + "'"), std::string::npos)
      << LoadComplaint();
  Write({"not a certificate\n", made.key});
  EXPECT_NE(LoadComplaint().find("it holds no usable certificate in PEM form"), std::string::npos)
      << LoadComplaint();
  Write({made.certificate, made.certificate});
  EXPECT_NE(LoadComplaint().find("it holds no private key in PEM form"), std::string::npos)
      << LoadComplaint();
  Write({made.certificate, MakeCertificate("second").key});
  EXPECT_NE(LoadComplaint().find("it is not the key of the certificate in"), std::string::npos)
      << LoadComplaint();
  Write(made);
  EXPECT_EQ(LoadComplaint(), "");
}

}  // namespace
}  // namespace cairn
