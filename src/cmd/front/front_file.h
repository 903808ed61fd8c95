// `cairn front-file`: keeps the file of a front's endpoints from each server's /health, so that a
// server that drains or has died gets no more requests. FrontFile is a round of it.

#ifndef CAIRN_CMD_FRONT_FRONT_FILE_H_
#define CAIRN_CMD_FRONT_FRONT_FILE_H_

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cmd/front/endpoints.h"

namespace CLI {
class App;
}

namespace cairn {

struct FrontFileOptions {
  std::vector<std::string> servers;
  std::string out;
  std::vector<std::string> labels = {"llm-d.ai/engine-type=cairn"};
  double interval_s = 1;
  double timeout_s = 2;
  int fall = 2;
  bool once = false;
};

CLI::App* AddFrontFile(CLI::App* app, FrontFileOptions* options);

// Runs until a signal ends the process, or one round with `once`. The file stays as it is at the
// end. Returns 1 with a message on standard error if the options are wrong or the file cannot be
// written at the start.
int RunFrontFile(const FrontFileOptions& options);

// Asks GET /health. Any thread.
Health CheckHealth(const Endpoint& endpoint, int timeout_ms);

class FrontFile {
 public:
  // `say` gets a line for each change. kInvalidArgument: a server or a label cannot be parsed.
  static Result<FrontFile> Make(const FrontFileOptions& options,
                                std::function<void(const std::string& line)> say);

  // Checks all servers at once, and replaces the file if their list has changed or the file is
  // gone. An error leaves the previous file, and the next round tries again.
  Status Round();

 private:
  FrontFile(Endpoints endpoints, EndpointLabels labels, const FrontFileOptions& options,
            std::function<void(const std::string& line)> say);

  Endpoints endpoints_;
  EndpointLabels labels_;
  std::string out_;
  int timeout_ms_;
  std::function<void(const std::string& line)> say_;
  std::string written_;  // the content of the file; empty if it may be another
};

}  // namespace cairn

#endif  // CAIRN_CMD_FRONT_FRONT_FILE_H_
