// `cairn top`: shows a running server's cache and the cost of its last requests in a terminal.

#ifndef CAIRN_CMD_TOP_H_
#define CAIRN_CMD_TOP_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"

namespace CLI {
class App;
}

namespace cairn {

// The screen of `cairn top`: the server's cache and its last requests as lines of text.
//
// Pure.
struct TopInput {
  std::string_view url;
  std::string_view cache;     // the body of GET /cairn/cache
  std::string_view requests;  // of GET /cairn/requests
  size_t columns = 100;
  size_t lines = 40;
};

// Returns lines of at most `columns` columns. kCorrupt if a body does not have the expected form.
Result<std::string> TopView(const TopInput& input);

struct TopOptions {
  std::string url = "http://127.0.0.1:8080";
  std::string api_key;
  double interval_s = 1;
  bool once = false;  // print one screen and exit
};

CLI::App* AddTop(CLI::App* app, TopOptions* options);
// Runs until it is interrupted. Returns 1 with a message on standard error if the server does not
// answer or is not a Cairn server.
int RunTop(const TopOptions& options);

}  // namespace cairn

#endif  // CAIRN_CMD_TOP_H_
