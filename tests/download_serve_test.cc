// `cairn serve -hf` and `-mu` against a hub of this machine: the model is downloaded and answers,
// the next start downloads nothing, and a start that cannot have the model says why.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "http/server.h"
#include "routes/routes.h"
#include "served.h"
#include "testing/download/hub_server.h"
#include "testing/http/tls_client.h"

namespace cairn {
namespace {

using test::FirstTurn;
using test::Flags;

class DownloadServeTest : public test::ServedTest {
 protected:
  DownloadServeTest() {
    std::ifstream file(test::MadeModel(), std::ios::binary);
    content_.assign(std::istreambuf_iterator<char>(file), {});
    hub_.Add("made/model", "tiny-Q4_K_M.gguf", content_);
  }
  ServerProcessOptions With(const Flags& source) const {
    Flags argv = test::ServeCommand({}, "");
    // Without "-m" and its value.
    argv.erase(argv.begin() + 2, argv.begin() + 4);
    ServerProcessOptions options{.argv = test::Join(argv, source)};
    options.environment = {{"HF_ENDPOINT", hub_server_.hub_origin()},
                           {"LLAMA_CACHE", files_ + "/models"},
                           {"HF_TOKEN", token_}};
    return options;
  }
  std::string RefusalOf(const Flags& source) const {
    const auto server = ServerProcess::Start(With(source));
    EXPECT_FALSE(server.has_value());
    return server ? "" : server.error().message;
  }
  void ExpectAnswer(const std::string& name) {
    const Json reply = Ask(FirstTurn());
    EXPECT_GT(reply["usage"]["completion_tokens"].get<int>(), 0);
    EXPECT_EQ(Json::parse(Get("/v1/models").body)["data"][0]["id"].text(), name);
  }

  PlayedHub hub_;
  const HubServer hub_server_{&hub_};
  std::string content_;
  std::string token_;
};

TEST_F(DownloadServeTest, AModelOfAHubAnswersAndIsDownloadedOnce) {
  ServeAs(With({"-hf", "made/model"}));
  ExpectAnswer("made/model");
  ServeAs(With({"-hf", "made/model:Q4_K_M"}));
  ExpectAnswer("made/model:Q4_K_M");
  EXPECT_EQ(hub_.CountOf("GET", "/lfs/"), 1u);
  const size_t asked = hub_.asked().size();
  ServeAs(With({"-hf", "made/model", "--offline"}));
  ExpectAnswer("made/model");
  EXPECT_EQ(hub_.asked().size(), asked);
}

TEST_F(DownloadServeTest, ACutAndADamagedDownloadStillServeTheRightModel) {
  int answers = 0;
  hub_.SetFault([&](const HubAsked& asked, HubAnswer* answer) {
    if (!asked.target.starts_with("/lfs/")) return;
    ++answers;
    if (answers == 1) answer->sent_max = content_.size() / 3;
    if (answers == 2) answer->body[answer->body.size() / 2] ^= 1;
  });
  ServeAs(With({"-hf", "made/model"}));
  ExpectAnswer("made/model");
  EXPECT_EQ(answers, 3);
}

TEST_F(DownloadServeTest, AModelOfAUrlAnswers) {
  hub_.AddPlain("/x/tiny.gguf", content_, "\"v1\"");
  ServeAs(With({"-mu", hub_server_.hub_origin() + "/x/tiny.gguf"}));
  ExpectAnswer("tiny.gguf");
}

// An HTTPS server whose certificate no authority has signed.
class SelfSigned {
 public:
  explicit SelfSigned(const std::string& folder) : certificate_path(folder + "/made.crt") {
    const test::MadeCertificate made = test::MakeCertificate("localhost");
    std::ofstream(certificate_path) << made.certificate;
    std::ofstream(folder + "/made.key") << made.key;
    HttpServerOptions options;
    options.port = 0;
    options.error_body = HttpErrorBody;
    options.certificate = *TlsCertificate::Load(certificate_path, folder + "/made.key");
    server_ = std::make_unique<HttpServer>(std::move(options));
    server_->Handle("GET", "/tiny.gguf", [this](const HttpRequest&) {
      HttpResponse response;
      response.body = content;
      return response;
    });
    EXPECT_TRUE(server_->Bind().has_value());
    thread_ = std::thread([this] { server_->Serve(); });
  }
  ~SelfSigned() {
    server_->Stop();
    thread_.join();
  }
  std::string url() const {
    return "https://localhost:" + std::to_string(server_->port()) + "/tiny.gguf";
  }

  const std::string certificate_path;
  std::string content;

 private:
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

TEST_F(DownloadServeTest, ACertificateIsVerified) {
  SelfSigned web(files_);
  web.content = content_;
  EXPECT_NE(RefusalOf({"-mu", web.url()}).find("ertificate"), std::string::npos);
  ServerProcessOptions options = With({"-mu", web.url()});
  options.environment.emplace_back("SSL_CERT_FILE", web.certificate_path);
  ServeAs(std::move(options));
  ExpectAnswer("tiny.gguf");
}

TEST_F(DownloadServeTest, AStartWithoutItsModelSaysWhy) {
  EXPECT_NE(RefusalOf({"-hf", "made/model:Q8_0"}).find("the nearest is -hf made/model:Q4_K_M"),
            std::string::npos);
  EXPECT_NE(RefusalOf({"-hf", "made/model", "--offline"}).find("--offline"), std::string::npos);
  hub_.Gate("made/model", "hf_right");
  EXPECT_NE(RefusalOf({"-hf", "made/model"}).find("HF_TOKEN"), std::string::npos);
  token_ = "hf_right";
  ServeAs(With({"-hf", "made/model"}));
  ExpectAnswer("made/model");
  EXPECT_EQ(Log().find("hf_right"), std::string::npos);
}

}  // namespace
}  // namespace cairn
