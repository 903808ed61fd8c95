#include "sched/answer/reuse_report.h"

namespace cairn {

std::string_view PathName(ReuseReport::Path path) {
  switch (path) {
    case ReuseReport::Path::kNothing:
      return "nothing";
    case ReuseReport::Path::kWentOn:
      return "went_on";
    case ReuseReport::Path::kCut:
      return "cut";
    case ReuseReport::Path::kRestored:
      return "restored";
    case ReuseReport::Path::kAssembled:
      return "joined";
    case ReuseReport::Path::kForked:
      return "forked";
    case ReuseReport::Path::kFullState:
      return "whole";
    case ReuseReport::Path::kMoved:
      return "moved";
  }
  return "";
}

}  // namespace cairn
