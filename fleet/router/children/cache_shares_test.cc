#include "fleet/router/children/cache_shares.h"

#include <gtest/gtest.h>

#include <map>

#include "base/json.h"
#include "routes/routes.h"
#include "testing/http/server_fixture.h"

namespace cairn {
namespace {

// Keeps the limits that the processes of the models were told.
class Told {
 public:
  void Set(const std::string& model, int64_t bytes) {
    const std::lock_guard<std::mutex> lock(mutex_);
    bytes_[model] = bytes;
  }
  int64_t Of(const std::string& model) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = bytes_.find(model);
    return found == bytes_.end() ? -1 : found->second;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, int64_t> bytes_;
};

class LimitedModel final : public Child {
 public:
  LimitedModel(const std::string& name, Told* told, ChildCallbacks callbacks)
      : callbacks_(std::move(callbacks)) {
    HttpServerOptions options;
    options.port = 0;
    options.error_body = HttpErrorBody;
    server_ = std::make_unique<HttpServer>(std::move(options));
    server_->Handle("POST", "/cairn/cache/limit", [name, told](const HttpRequest& request) {
      const Json body = Json::parse(request.body);
      if (body.contains("bytes")) told->Set(name, body["bytes"].get<int64_t>());
      HttpResponse response;
      response.body = R"({"memory_bytes":)" + std::to_string(name == "own" ? 7 : 70) + "}";
      return response;
    });
    EXPECT_TRUE(server_->Bind().has_value());
    thread_ = std::thread([this] {
      callbacks_.on_ready(server_->port());
      server_->Serve();
      callbacks_.on_end({0, ""});
    });
  }
  ~LimitedModel() override {
    server_->Stop();
    thread_.join();
  }
  void Signal(int /*number*/) override { server_->Stop(); }

 private:
  const ChildCallbacks callbacks_;
  std::unique_ptr<HttpServer> server_;
  std::thread thread_;
};

TEST(CacheShares, AreEqualParts) {
  EXPECT_EQ(CacheShare(900, 0), 900u);
  EXPECT_EQ(CacheShare(900, 1), 900u);
  EXPECT_EQ(CacheShare(900, 3), 300u);
}

TEST(CacheShares, FollowTheModelsThatRun) {
  const SteadyClock clock;
  Told told;
  std::atomic<CacheShares*> shares_now = nullptr;
  ModelSetOptions options;
  for (const char* name : {"a", "b", "own"}) {
    ModelEntry entry;
    entry.name = name;
    if (entry.name == "own") entry.arguments = {"serve", "--cache-ram=5"};
    options.models.push_back(entry);
  }
  options.clock = &clock;
  options.start = [&](const ModelEntry& model, size_t /*running*/, ChildCallbacks callbacks) {
    return std::make_unique<LimitedModel>(model.name, &told, std::move(callbacks));
  };
  options.on_change = [&] {
    if (CacheShares* const shares = shares_now.load(); shares != nullptr) shares->Update();
  };
  ModelSet models(std::move(options));
  auto shares = std::make_unique<CacheShares>(&models, 1000, nullptr, LogSink());
  shares_now = shares.get();
  const auto use = [&](const char* name) {
    ASSERT_TRUE(models.Use(models.Find(name), {}, [] { return false; }).has_value());
  };
  use("a");
  EXPECT_TRUE(Eventually([&] { return told.Of("a") == 1000; }));
  use("b");
  EXPECT_TRUE(Eventually([&] { return told.Of("a") == 500 && told.Of("b") == 500; }));
  use("own");
  EXPECT_TRUE(models.Unload(models.Find("b")).has_value());
  EXPECT_TRUE(Eventually([&] { return told.Of("a") == 1000; }));
  EXPECT_EQ(told.Of("own"), -1);
  EXPECT_TRUE(Eventually([&] { return models.List()[2].bytes == 7; }));
  EXPECT_EQ(models.List()[0].bytes, 70u);
  shares_now = nullptr;
  shares.reset();
  models.Drain(kPatienceMs);
  models.StopAll();
}

}  // namespace
}  // namespace cairn
