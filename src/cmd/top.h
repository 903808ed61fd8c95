// `cairn top`: what a running server's cache holds and what its last requests cost, in a terminal.

#ifndef CAIRN_CMD_TOP_H_
#define CAIRN_CMD_TOP_H_

#include <string>

namespace CLI {
class App;
}

namespace cairn {

struct TopOptions {
  std::string url = "http://127.0.0.1:8080";
  std::string api_key;
  double interval_s = 1;
  bool once = false;  // print, and end
};

CLI::App* AddTop(CLI::App* app, TopOptions* options);
// Until it is interrupted. 1 with what went wrong on standard error when the server is not there,
// or is none of ours.
int RunTop(const TopOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_TOP_H_
