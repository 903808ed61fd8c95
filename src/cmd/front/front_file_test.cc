#include "cmd/front/front_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/read_file.h"
#include "http/server.h"

namespace cairn {
namespace {

// Answers /health with a status.
class FakeServer {
 public:
  FakeServer() : server_(Options()) {
    server_.Handle("GET", "/health", [this](const HttpRequest&) {
      HttpResponse response;
      response.status = status;
      while (hangs) std::this_thread::yield();
      return response;
    });
    EXPECT_TRUE(server_.Bind());
    thread_ = std::thread([this] { server_.Serve(); });
  }
  ~FakeServer() {
    hangs = false;
    server_.Stop();
    thread_.join();
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(server_.port()); }
  std::string port() const { return std::to_string(server_.port()); }

  std::atomic<int> status = 200;
  std::atomic<bool> hangs = false;

 private:
  static HttpServerOptions Options() {
    HttpServerOptions options;
    options.port = 0;
    options.error_body = [](int, std::string_view, std::string_view) { return std::string(); };
    return options;
  }

  HttpServer server_;
  std::thread thread_;
};

class FrontFileTest : public testing::Test {
 protected:
  FrontFileTest() {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    for (auto& server : servers_) server = std::make_unique<FakeServer>();
  }
  ~FrontFileTest() override { std::filesystem::remove_all(folder_); }

  FrontFile Make(FrontFileOptions options = {}) {
    options.servers = {servers_[0]->address(), servers_[1]->address()};
    options.out = out_;
    options.labels = {"pool=a"};
    return *FrontFile::Make(options, [this](const std::string& line) { said_.push_back(line); });
  }
  std::string Content() const { return ReadFile(out_).value_or("none"); }
  std::string Entry(const FakeServer& server) const {
    return "  - name: cairn-127.0.0.1-" + server.port() +
           "\n    address: \"127.0.0.1\"\n    port: \"" + server.port() +
           "\"\n    labels: {\"pool\": \"a\"}\n";
  }
  static std::string File(const std::string& entries) {
    return "# Written by `cairn front-file`, which replaces it.\nendpoints:" + entries;
  }

  const std::string folder_ = testing::TempDir() + "/front_file_test" + std::to_string(getpid());
  const std::string out_ = folder_ + "/endpoints.yaml";
  std::unique_ptr<FakeServer> servers_[2];
  std::vector<std::string> said_;
};

TEST_F(FrontFileTest, ListsServersThatTakeRequests) {
  FrontFile file = Make();
  ASSERT_TRUE(file.Round());
  EXPECT_EQ(Content(), File("\n" + Entry(*servers_[0]) + Entry(*servers_[1])));
  struct stat status{};
  ASSERT_EQ(stat(out_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0644U);
  EXPECT_EQ(said_.size(), 2u);
}

TEST_F(FrontFileTest, AServerThatDrainsLeavesAtOnceAndComesBack) {
  FrontFile file = Make();
  ASSERT_TRUE(file.Round());
  servers_[0]->status = 503;
  ASSERT_TRUE(file.Round());
  EXPECT_EQ(Content(), File("\n" + Entry(*servers_[1])));
  EXPECT_EQ(said_.back(), servers_[0]->address() + " takes no requests: it leaves");
  servers_[0]->status = 200;
  ASSERT_TRUE(file.Round());
  EXPECT_EQ(Content(), File("\n" + Entry(*servers_[0]) + Entry(*servers_[1])));
}

TEST_F(FrontFileTest, ADeadServerLeavesAfterSomeChecks) {
  FrontFileOptions options;
  options.fall = 3;
  FrontFile file = Make(options);
  ASSERT_TRUE(file.Round());
  const std::string both = Content();
  const std::string rest = File("\n" + Entry(*servers_[1]));
  servers_[0].reset();
  for (int check = 1; check <= 4; ++check) {
    ASSERT_TRUE(file.Round());
    EXPECT_EQ(Content(), check < 3 ? both : rest) << check;
  }
}

TEST_F(FrontFileTest, AServerThatHangsLeavesAndHoldsUpNobody) {
  FrontFileOptions options;
  options.fall = 1;
  options.timeout_s = 0.1;
  servers_[0]->hangs = true;
  FrontFile file = Make(options);
  ASSERT_TRUE(file.Round());
  EXPECT_EQ(Content(), File("\n" + Entry(*servers_[1])));
}

TEST_F(FrontFileTest, WithoutServersTheListIsEmpty) {
  servers_[0]->status = servers_[1]->status = 503;
  FrontFile file = Make();
  ASSERT_TRUE(file.Round());
  EXPECT_EQ(Content(), File(" []\n"));
}

TEST_F(FrontFileTest, TheFileIsReplacedOnlyWhenSomethingChangesOrItIsGone) {
  FrontFile file = Make();
  ASSERT_TRUE(file.Round());
  struct stat before{};
  struct stat after{};
  ASSERT_EQ(stat(out_.c_str(), &before), 0);
  ASSERT_TRUE(file.Round());
  ASSERT_EQ(stat(out_.c_str(), &after), 0);
  EXPECT_EQ(before.st_ino, after.st_ino);
  const std::string content = Content();
  std::filesystem::remove(out_);
  ASSERT_TRUE(file.Round());
  EXPECT_EQ(Content(), content);
}

TEST_F(FrontFileTest, AFileThatCannotBeWrittenIsTriedAgain) {
  FrontFile file = Make();
  std::filesystem::remove_all(folder_);
  const Status failed = file.Round();
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find(out_), std::string::npos);
  std::filesystem::create_directories(folder_);
  ASSERT_TRUE(file.Round());
  EXPECT_NE(Content(), "none");
  size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder_)) ++files;
  EXPECT_EQ(files, 1u);
}

TEST(Endpoints, AreIpv4AddressesWithPorts) {
  const auto error = [](const std::vector<std::string>& texts) {
    const auto parsed = ParseEndpoints(texts);
    return parsed ? std::string() : parsed.error().message;
  };
  EXPECT_EQ(error({"10.0.0.1:8080", "10.0.0.1:8081"}), "");
  EXPECT_NE(error({"10.0.0.1"}).find("no port"), std::string::npos);
  for (const char* port : {"0", "65536", "-1", "8080x", "", " 80"}) {
    EXPECT_NE(error({std::string("10.0.0.1:") + port}).find("65535"), std::string::npos) << port;
  }
  for (const char* host : {"localhost", "[::1]", "10.0.0", "10.0.0.1.2", ""}) {
    EXPECT_NE(error({std::string(host) + ":80"}).find("IPv4"), std::string::npos) << host;
  }
  EXPECT_NE(error({"10.0.0.1:80", "10.0.0.1:80"}).find("twice"), std::string::npos);
  EXPECT_NE(error({}).find("no server"), std::string::npos);
}

TEST(Endpoints, LabelsAreQuoted) {
  const auto labels = ParseEndpointLabels({"a=b=\"c\"", "llm-d.ai/role=x: y"});
  ASSERT_TRUE(labels.has_value());
  Endpoints endpoints(*ParseEndpoints({"10.0.0.1:80"}), 1);
  endpoints.Update({Health::kOk});
  EXPECT_NE(endpoints.Yaml(*labels).find(R"(    labels: {"a": "b=\"c\"", "llm-d.ai/role": "x: y"})"
                                         "\n"),
            std::string::npos)
      << endpoints.Yaml(*labels);
  EXPECT_FALSE(ParseEndpointLabels({"a"}));
  EXPECT_FALSE(ParseEndpointLabels({"=b"}));
}

}  // namespace
}  // namespace cairn
