// Where `cairn serve` gets its models from when not from files of this machine, as given on the
// command line. Part of ServeOptions.

#ifndef CAIRN_CMD_SERVE_SOURCE_SOURCE_OPTIONS_H_
#define CAIRN_CMD_SERVE_SOURCE_SOURCE_OPTIONS_H_

#include <string>

namespace cairn {

// All texts are empty if not given.
struct SourceOptions {
  std::string hub_name;  // "USER/REPO[:QUANT]"
  std::string hub_file;
  std::string model_url;
  std::string mmproj_url;
  std::string draft_hub_name;
  bool mmproj_auto = true;  // take the projector of the hub's repository, if it has one
  bool offline = false;
};

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_SOURCE_SOURCE_OPTIONS_H_
