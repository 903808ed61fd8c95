// Downloads by libcurl from a server on this machine.

#include "download/web/curl_transfer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "testing/download/download_fixture.h"
#include "testing/download/hub_server.h"

namespace cairn {
namespace {

class CurlTransferTest : public DownloadTest {
 protected:
  CurlTransferTest() {
    hub_.Add("made/model", "m-Q4_K_M.gguf", content_);
    settings_.endpoint = server_.hub_origin();
    settings_.token = "hf_secret";
    hub_.Gate("made/model", "hf_secret");
  }
  Result<DownloadedModel> Get() {
    return ModelDownload(curl_.get(), settings_, hooks_, rules_).FromHub({"made/model", "", true});
  }
  // Changes the first `times` answers that carry the file.
  void Fault(int times, std::function<void(HubAnswer*)> fault) {
    hub_.SetFault(
        [times, fault = std::move(fault)](const HubAsked& asked, HubAnswer* answer) mutable {
          const bool is_file = asked.target.starts_with("/lfs/");
          if (is_file && times > 0 && times-- > 0) fault(answer);
        });
  }
  void ExpectRight() {
    const auto model = Get();
    ASSERT_TRUE(model.has_value()) << model.error().message;
    EXPECT_EQ(ContentOf(model->path), content_);
  }

  const std::string content_ = MadeContent(300'000, 1);
  HubServer server_{&hub_};
  const std::unique_ptr<Transfer> curl_ = MakeCurlTransfer({.silence_s = 2});
};

TEST_F(CurlTransferTest, DownloadsAModelThroughTheRedirectWithoutTheToken) {
  ExpectRight();
  size_t of_cdn = 0;
  for (const HubAsked& asked : hub_.asked()) {
    const bool to_cdn = asked.origin == server_.cdn_origin();
    of_cdn += to_cdn ? 1 : 0;
    EXPECT_EQ(asked.Header("Authorization"), to_cdn ? "" : "Bearer hf_secret");
  }
  EXPECT_EQ(of_cdn, 1u);
}

TEST_F(CurlTransferTest, GoesOnBehindACutConnection) {
  Fault(2, [](HubAnswer* answer) { answer->sent_max = 90'000; });
  ExpectRight();
  EXPECT_EQ(hub_.asked().back().Header("Range"), "bytes=180000-");
}

TEST_F(CurlTransferTest, AConnectionThatSaysNothingIsCut) {
  Fault(1, [](HubAnswer* answer) {
    answer->pause_ms = 4000;
    answer->sent_max = 20'000;
  });
  ExpectRight();
  EXPECT_TRUE(Said("trying again")) << said_;
}

TEST_F(CurlTransferTest, ASlowServerIsWaitedFor) {
  Fault(1, [](HubAnswer* answer) { answer->pause_ms = 20; });
  ExpectRight();
  EXPECT_EQ(hub_.CountOf("GET", "/lfs/"), 1u);
}

TEST_F(CurlTransferTest, AWrongLengthIsNotBelieved) {
  for (const char* length : {"1", "299999", "300001", "99999999"}) {
    Fault(1, [&](HubAnswer* answer) { answer->Set("Content-Length", length); });
    ExpectRight();
    std::filesystem::remove_all(folder_ + "/hub");
  }
}

TEST_F(CurlTransferTest, AWrongChecksumAndAChangedETagEndWell) {
  Fault(1, [](HubAnswer* answer) { answer->body[1000] ^= 1; });
  ExpectRight();
  std::filesystem::remove_all(folder_ + "/hub");
  int answers = 0;
  Fault(3, [&](HubAnswer* answer) {
    answer->sent_max = 100'000;
    answer->Set("ETag", "\"" + std::to_string(++answers) + "\"");
  });
  ExpectRight();
}

TEST_F(CurlTransferTest, NobodyListeningAndOtherUrlsAreErrors) {
  const auto run = [&](const std::string& url) { return curl_->Run({url, {}, false}, {}); };
  ExpectFails(run("http://127.0.0.1:1/"), ErrorCode::kUnavailable, "127.0.0.1");
  for (const char* url : {"file:///etc/passwd", "ftp://127.0.0.1/x", "", "http://"})
    ExpectFails(run(url), ErrorCode::kInvalidArgument, "is not a URL");
}

TEST_F(CurlTransferTest, WhatTheSinkSaysIsTheResult) {
  TransferSink sink;
  sink.head = [](const TransferHead&) -> Status { return Fail(ErrorCode::kTooLong, "enough"); };
  ExpectFails(curl_->Run({server_.hub_origin() + "/x", {}, false}, sink), ErrorCode::kTooLong,
              "enough");
}

TEST_F(CurlTransferTest, HeadHasTheHeadersAndNoBody) {
  hub_.AddPlain("/plain.gguf", content_, "\"v\"");
  TransferHead head;
  TransferSink sink;
  sink.head = [&](const TransferHead& got) -> Status {
    head = got;
    return {};
  };
  sink.body = [](ByteSpan) -> Status { return Fail(ErrorCode::kInternal, "a body"); };
  ASSERT_TRUE(curl_->Run({server_.hub_origin() + "/plain.gguf", {}, true}, sink).has_value());
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.Header("content-LENGTH"), "300000");
  EXPECT_EQ(head.Header("ETag"), "\"v\"");
}

}  // namespace
}  // namespace cairn
