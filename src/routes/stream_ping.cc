#include "routes/stream_ping.h"

namespace cairn {

void StreamPing::Fill(std::string_view ping, std::string* chunk) {
  if (interval_ms_ <= 0) return;
  const double now_ms = clock_->NowMs();
  if (chunk->empty() && now_ms - sent_ms_ < interval_ms_) return;
  if (chunk->empty()) *chunk = ping;
  sent_ms_ = now_ms;
}

}  // namespace cairn
