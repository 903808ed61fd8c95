// For tests: SeaweedFS, a real S3 server.

#ifndef CAIRN_TESTING_REMOTE_SEAWEED_H_
#define CAIRN_TESTING_REMOTE_SEAWEED_H_

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/fs.h"
#include "fleet/remote/remote_objects.h"
#include "fleet/remote/s3/s3_objects.h"
#include "testing/remote/real_server.h"

namespace cairn::test {

inline std::string SeaweedProgram() {
  return FindProgram("CAIRN_WEED", {"weed"});
}
inline constexpr const char* kNoSeaweed = "weed (SeaweedFS) is not installed; CAIRN_WEED names it";

// One server with a bucket "cairn", which appears with the first object that it accepts.
class Seaweed {
 public:
  static constexpr const char* kAccess = "CAIRNTESTACCESS";
  static constexpr const char* kSecret = "cairn-test-secret-0123456789";

  // `more`: flags.
  explicit Seaweed(const std::vector<std::string>& more = {}) {
    std::ofstream(config_) << R"({"identities":[{"name":"t","credentials":[{"accessKey":")"
                           << kAccess << R"(","secretKey":")" << kSecret
                           << R"("}],"actions":["Admin","Read","Write","List","Tagging"]}]})";
    const uint16_t port = FreePort();
    std::vector<std::string> command = {
        SeaweedProgram(), "server", "-dir=.", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-s3",
        "-filer", "-s3.config=" + config_, "-s3.port=" + std::to_string(port),
        // Catalogs at fixed ports, which two servers cannot share.
        "-s3.port.iceberg=0", "-s3.port.lance=0", "-volume.max=20", "-master.volumeSizeLimitMB=64"};
    // Each port of SeaweedFS has a second one, 10,000 above, unless that is named too.
    for (const char* name : {"s3.port.grpc", "master.port", "master.port.grpc", "volume.port",
                             "volume.port.grpc", "filer.port", "filer.port.grpc"}) {
      command.push_back("-" + std::string(name) + "=" + std::to_string(FreePort()));
    }
    command.insert(command.end(), more.begin(), more.end());
    server_ = std::make_unique<RealServer>(command, port);
  }
  ~Seaweed() {
    server_.reset();
    std::error_code ignored;
    std::filesystem::remove(config_, ignored);
  }
  Seaweed(const Seaweed&) = delete;
  Seaweed& operator=(const Seaweed&) = delete;

  RealServer& server() { return *server_; }
  // The settings of a client that connects to `scheme`://`host`.
  S3Options Options(const std::string& scheme = "http", const std::string& host = "127.0.0.1") {
    S3Options options;
    options.endpoint = scheme + "://" + host + ":" + std::to_string(server_->port());
    options.region = "us-east-1";
    options.bucket = "cairn";
    options.prefix = "team/";
    options.access_key = kAccess;
    options.secret_key = kSecret;
    return options;
  }
  // Waits until it accepts objects. The message of the error ends with the server's log.
  Status WaitUntilAccepting(RemoteObjects* objects) {
    std::string why = "it does not listen";
    for (int i = 0; i < 200 && server_->WaitUntilListening(60); ++i) {
      const Status put = objects->Put("v1/first", Bytes(10, 1), DeadlineIn(20'000));
      if (put) return {};
      why = put.error().message;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    const std::string log = ReadFile(server_->folder() + "/log").value_or("no log");
    return Fail(ErrorCode::kUnavailable, why + "\n" + log);
  }

 private:
  const std::string config_ =
      std::filesystem::temp_directory_path() /
      ("cairn-s3-" + std::to_string(getpid()) + "-" + std::to_string(FreePort()) + ".json");
  std::unique_ptr<RealServer> server_;
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_REMOTE_SEAWEED_H_
