#include "cmd/lib/progress_line.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

namespace cairn {
namespace {

constexpr double kQuietMs = 1000;
constexpr double kTerminalStepMs = 100;
constexpr double kFileStepMs = 5000;

}  // namespace

ProgressLine::ProgressLine(std::string what)
    : what_(std::move(what)), terminal_(isatty(STDERR_FILENO) == 1), started_ms_(clock_.NowMs()) {}

ProgressLine::~ProgressLine() {
  if (shown_ && terminal_) std::fprintf(stderr, "\r\033[K");
}

void ProgressLine::Update(float share) {
  const double now_ms = clock_.NowMs();
  if (now_ms - started_ms_ < kQuietMs) return;
  if (shown_ && now_ms - shown_ms_ < (terminal_ ? kTerminalStepMs : kFileStepMs)) return;
  std::fprintf(stderr, terminal_ ? "\r%s … %3.0f %%" : "%s … %3.0f %%\n", what_.c_str(),
               static_cast<double>(share) * 100);
  shown_ms_ = now_ms;
  shown_ = true;
}

void PrintLogLine(LogLevel /*level*/, std::string_view line) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}

}  // namespace cairn
