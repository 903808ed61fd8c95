#include "fleet/remote/tier/upload_queue.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace cairn {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr uint64_t kUsesOfShared = 2;

double WorthPerByte(const UploadRecord& record) {
  return record.worth_ms / static_cast<double>(std::max<uint64_t>(record.bytes, 1));
}

// Blocks are whole; an object that ends within one is taken for a beginning of all that go on.
bool Begins(const UploadRecord& shorter, const UploadRecord& longer) {
  if (shorter.name_space != longer.name_space || shorter.end >= longer.end) return false;
  const size_t count = shorter.blocks.size();
  return count > 0 && count <= longer.blocks.size() &&
         shorter.blocks.back() == longer.blocks[count - 1];
}

}  // namespace

void UploadQueue::Relate(Object* shorter, const Object& longer) {
  if (shorter->record.kind != ObjectKind::kSnapshot || !Begins(shorter->record, longer.record)) {
    return;
  }
  const size_t count = shorter->record.blocks.size();
  if (longer.record.blocks.size() > count) {
    const BlockHash& next = longer.record.blocks[count];
    if (!shorter->next) shorter->next = next;
    if (*shorter->next != next) shorter->due = true;
  }
  if (longer.record.kind == ObjectKind::kSnapshot &&
      longer.record.checkpoint_class == shorter->record.checkpoint_class) {
    shorter->passed = true;
  }
}

void UploadQueue::OnWritten(const ObjectName& name, UploadRecord record) {
  if (record.kind == ObjectKind::kMediaRows) return;
  Object object;
  object.record = std::move(record);
  for (auto& [other_name, other] : objects_) {
    Relate(&other, object);
    Relate(&object, other);
  }
  objects_[name] = std::move(object);
  KeepFew();
}

void UploadQueue::OnUsed(const ObjectName& name) {
  const auto found = objects_.find(name);
  if (found == objects_.end()) return;
  if (++found->second.uses >= kUsesOfShared) found->second.due = true;
}

void UploadQueue::AddDue(const ObjectName& name, UploadRecord record) {
  Object object;
  object.record = std::move(record);
  object.due = true;
  objects_[name] = std::move(object);
  KeepFew();
}

double UploadQueue::DueMs(const Object& object, bool all) const {
  if (object.due) return 0;
  if (object.passed) return kNever;
  return all ? 0 : object.record.written_ms + after_ms_;
}

std::optional<UploadQueue::Upload> UploadQueue::TakeNext(double now_ms, double bytes_per_ms,
                                                         bool all) {
  auto best = objects_.end();
  for (auto it = objects_.begin(); it != objects_.end();) {
    if (DueMs(it->second, all) > now_ms) {
      ++it;
      continue;
    }
    const UploadRecord& record = it->second.record;
    if (record.worth_ms * bytes_per_ms <= static_cast<double>(record.bytes)) {
      it = objects_.erase(it);
      continue;
    }
    if (best == objects_.end() || WorthPerByte(record) > WorthPerByte(best->second.record)) {
      best = it;
    }
    ++it;
  }
  if (best == objects_.end()) return std::nullopt;
  Upload upload{best->first, std::move(best->second.record)};
  objects_.erase(best);
  return upload;
}

std::optional<double> UploadQueue::NextDueMs() const {
  double next_ms = kNever;
  for (const auto& [name, object] : objects_) next_ms = std::min(next_ms, DueMs(object, false));
  if (next_ms == kNever) return std::nullopt;
  return next_ms;
}

size_t UploadQueue::waiting() const {
  return static_cast<size_t>(
      std::count_if(objects_.begin(), objects_.end(),
                    [this](const auto& pair) { return DueMs(pair.second, false) != kNever; }));
}

// Drops a tenth at once, so that a full queue does not sort for each object.
void UploadQueue::KeepFew() {
  if (objects_.size() <= kObjectsMax) return;
  std::vector<double> worths;
  for (const auto& [name, object] : objects_) {
    worths.push_back(object.passed && !object.due ? 0 : WorthPerByte(object.record));
  }
  const auto tenth = worths.begin() + static_cast<std::ptrdiff_t>(worths.size() / 10);
  std::nth_element(worths.begin(), tenth, worths.end());
  size_t left = worths.size() / 10;
  std::erase_if(objects_, [&, limit = *tenth](const auto& pair) {
    const Object& object = pair.second;
    const double worth = object.passed && !object.due ? 0 : WorthPerByte(object.record);
    if (left == 0 || worth > limit) return false;
    --left;
    return true;
  });
}

}  // namespace cairn
