// How a slot came to where its prompt goes on from, in figures.

#include <algorithm>

#include "sched/slots/slot_keeper.h"

namespace cairn {
namespace {

ReuseReport::Way WayOf(const Way& way) {
  if (way.source == Way::Source::kFork) return ReuseReport::Way::kForked;
  if (way.source == Way::Source::kWhole) return ReuseReport::Way::kWhole;
  switch (way.point.kind) {
    case ResumePoint::Kind::kNothing:
      return ReuseReport::Way::kNothing;
    case ResumePoint::Kind::kContinue:
      return ReuseReport::Way::kWentOn;
    case ResumePoint::Kind::kTruncate:
      return ReuseReport::Way::kCut;
    case ResumePoint::Kind::kRestore:
      return ReuseReport::Way::kRestored;
    case ResumePoint::Kind::kJoin:
      return ReuseReport::Way::kJoined;
  }
  return ReuseReport::Way::kNothing;
}

}  // namespace

std::string_view WayName(ReuseReport::Way way) {
  switch (way) {
    case ReuseReport::Way::kNothing:
      return "nothing";
    case ReuseReport::Way::kWentOn:
      return "went_on";
    case ReuseReport::Way::kCut:
      return "cut";
    case ReuseReport::Way::kRestored:
      return "restored";
    case ReuseReport::Way::kJoined:
      return "joined";
    case ReuseReport::Way::kForked:
      return "forked";
    case ReuseReport::Way::kWhole:
      return "whole";
    case ReuseReport::Way::kMoved:
      return "moved";
  }
  return "";
}

ReuseReport SlotKeeper::Report(const Way& way, const Held& held, size_t kept) const {
  const Checkpoint& checkpoint = way.point.checkpoint;
  ReuseReport report;
  report.way = WayOf(way);
  report.reused_tokens = way.point.position;
  report.restored_bytes = held.snapshot.size() + held.whole.size();
  if (checkpoint.id != 0) {
    ReuseReport::UsedCheckpoint used{checkpoint.position, checkpoint.checkpoint_class};
    if (checkpoint.created_ms >= 0) used.age_ms = clock_->NowMs() - checkpoint.created_ms;
    report.checkpoint = used;
  }
  size_t from_disk = 0;
  size_t from_ram = 0;
  if (held.path) {
    for (const CheckpointCache::PinnedPath::Part& part : held.path->parts) {
      const size_t begin = std::max(part.begin, kept);
      const size_t end = std::min(part.end, way.point.position);
      if (begin >= end) continue;
      report.restored_bytes += part.bytes;
      (part.from_disk ? from_disk : from_ram) += end - begin;
    }
  }
  // Without the state at its end none of it would be of use.
  const bool has_state = !held.snapshot.empty() || !held.whole.empty();
  if (has_state && held.from_disk) {
    from_disk = way.point.position;
    from_ram = 0;
  } else if (has_state) {
    from_ram = way.point.position - from_disk;
  }
  report.disk_tokens = from_disk;
  report.ram_tokens = from_ram;
  report.live_tokens = way.point.position - from_disk - from_ram;
  return report;
}

std::optional<ReuseReport> SlotKeeper::AtHand(const SlotNeeds& needs) {
  // As in Resume.
  if (engine_->traits().grid_tokens == 0 && options_.mode == ReuseMode::kExact) return std::nullopt;
  const Way way = Choose(needs);
  const ResumePoint& point = way.point;
  if (point.kind == ResumePoint::Kind::kNothing || point.kind == ResumePoint::Kind::kJoin) {
    return std::nullopt;
  }
  if (way.source == Way::Source::kWhole) return std::nullopt;
  if (point.checkpoint.id != 0 && !cache_->InMemory(point.checkpoint.id)) return std::nullopt;
  // Who goes on from there will need it, so it counts as used.
  const std::optional<Held> held = Hold(needs, way);
  if (!held) return std::nullopt;
  ReuseReport report = Report(way, *held, point.position);
  Unhold(way, *held);
  report.restored_bytes = 0;
  return report;
}

}  // namespace cairn
