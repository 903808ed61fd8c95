#include "sched/answer/reuse_report.h"

namespace cairn {

std::string_view PathName(ReuseReport::Path path) {
  switch (path) {
    case ReuseReport::Path::kNothing:
      return "none";
    case ReuseReport::Path::kWentOn:
      return "continued";
    case ReuseReport::Path::kCut:
      return "truncated";
    case ReuseReport::Path::kRestored:
      return "restored";
    case ReuseReport::Path::kAssembled:
      return "assembled";
    case ReuseReport::Path::kForked:
      return "forked";
    case ReuseReport::Path::kFullState:
      return "full_state";
    case ReuseReport::Path::kMoved:
      return "moved";
  }
  return "";
}

}  // namespace cairn
