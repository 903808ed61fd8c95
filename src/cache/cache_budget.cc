#include "cache/cache_budget.h"

#include <algorithm>

namespace cairn {
namespace {

constexpr uint64_t kReserveShare = 32;
constexpr uint64_t kReserveMin = uint64_t{32} << 20;
constexpr uint64_t kReserveMax = uint64_t{1} << 30;
constexpr double kCalmMs = 30'000;
// 1 / kRefusedShare of the held bytes is dropped after an allocation failed although enough memory
// seemed left (it was fragmented, or too much was requested at once).
constexpr size_t kRefusedShare = 4;

}  // namespace

uint64_t CacheBudget::ReserveOf(uint64_t limit_bytes) {
  return std::clamp(limit_bytes / kReserveShare, kReserveMin, kReserveMax);
}

void CacheBudget::SetAsked(size_t asked) {
  now_ = now_ == asked_ ? asked : std::min(now_, asked);
  asked_ = asked;
}

size_t CacheBudget::Next(const MemoryRoom& room, size_t held, double now_ms) {
  const uint64_t reserve = ReserveOf(room.limit_bytes);
  if (room.refused || room.left_bytes < reserve) {
    short_ms_ = now_ms;
    uint64_t lacks = room.left_bytes < reserve ? 2 * reserve - room.left_bytes : 0;
    if (room.refused) lacks = std::max<uint64_t>(lacks, held / kRefusedShare);
    now_ = std::min(now_, held - std::min<uint64_t>(held, lacks));
    return now_;
  }
  const bool calm = now_ms - short_ms_ >= kCalmMs;
  if (now_ == asked_ || !calm || room.left_bytes <= 2 * reserve) return now_;
  const uint64_t grown = held + (room.left_bytes - 2 * reserve) / 2;
  now_ = static_cast<size_t>(std::clamp<uint64_t>(grown, now_, asked_));
  return now_;
}

}  // namespace cairn
