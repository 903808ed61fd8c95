#include "fleet/remote/tier/remote_uploader.h"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "fleet/remote/remote_objects.h"
#include "fleet/remote/seal.h"
#include "store/disk/disk_files.h"
#include "store/folder/object_folder.h"

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

constexpr double kPutMsMin = 10'000;
constexpr double kHasMsMax = 2000;
// A store may give up what nobody uses, so what was there earlier than this is looked at again.
constexpr double kReliedOnMs = 600'000;
constexpr double kAddMsMax = 5000;
constexpr size_t kSegmentsMax = 10'000;
// The slowest store that an upload waits for.
constexpr double kBytesPerMsMin = 1000;

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

UploadRecord RemoteUploader::RecordOf(const ObjectHeader& header) const {
  const RemoteNames names(options_->keys.keys().front(), options_->fingerprint, header.name_space);
  UploadRecord record;
  record.kind = header.kind;
  record.checkpoint_class = header.checkpoint_class;
  record.name_space = header.name_space;
  record.begin = header.begin;
  record.end = header.tokens.size();
  record.lineage = header.lineage;
  record.worth_ms = header.worth_ms;
  record.bytes = header.stored_bytes;
  record.blocks = names.Blocks(header.tokens);
  record.written_ms = options_->clock->NowMs();
  return record;
}

void RemoteUploader::AddSegment(const ObjectName& name, const UploadRecord& record) {
  if (record.kind != ObjectKind::kSegment) return;
  const MutexLock lock(mutex_);
  if (segments_.size() >= kSegmentsMax) segments_.clear();
  segments_[name] = record;
}

Result<ObjectHeader> RemoteUploader::HeaderOf(const ObjectName& name) const {
  const std::string model = options_->folder + "/" + ToText(options_->fingerprint);
  const auto stat = options_->fs->Stat(model + "/" + ObjectFileName(name));
  if (!stat) return tl::unexpected(stat.error());
  auto front = ReadFront(*options_->fs, model, name, stat->bytes);
  if (!front) return tl::unexpected(front.error());
  return std::move(front->header);
}

ObjectName RemoteUploader::HolderOf(const ObjectHeader& snapshot) const {
  const UploadRecord record = RecordOf(snapshot);
  std::vector<ObjectName> candidates;
  {
    const MutexLock lock(mutex_);
    for (const auto& [name, segment] : segments_) {
      const size_t blocks = record.blocks.size();
      const bool holds = segment.name_space == record.name_space &&
                         segment.lineage == record.lineage && segment.begin < record.end &&
                         record.end <= segment.end && blocks <= segment.blocks.size() &&
                         (blocks == 0 || segment.blocks[blocks - 1] == record.blocks.back());
      if (holds) candidates.push_back(name);
    }
  }
  for (const ObjectName& name : candidates) {
    const auto header = HeaderOf(name);
    if (header && CommonTokens(header->tokens, snapshot.tokens) == snapshot.tokens.size()) {
      return name;
    }
  }
  return {};
}

Result<RemoteUploader::Step> RemoteUploader::MakeStep(const ObjectName& name) const {
  auto header = HeaderOf(name);
  if (!header) return tl::unexpected(header.error());
  Step step;
  step.name = name;
  step.header = *std::move(header);
  step.parent =
      step.header.kind == ObjectKind::kSnapshot ? HolderOf(step.header) : step.header.parent;
  return step;
}

Result<uint64_t> RemoteUploader::Upload(const ObjectName& name) {
  const auto there = known_->Find(name);
  if (there && options_->clock->NowMs() - there->refreshed_ms < RefreshMs(*options_)) return 0;
  // The objects that are not in the store yet, the deepest first.
  std::vector<Step> steps;
  // Those that the index must list with this one, as they have no block of their own.
  std::vector<RemoteEntry> shorts;
  ObjectName next = name;
  for (size_t i = 0; i < kPathObjectsMax && !next.empty(); ++i) {
    const auto known = known_->Find(next);
    if (known && next != name && MayRelyOn(*known, steps.front().header.name_space)) {
      if (known->is_short) shorts.push_back(known->entry);
      next = known->parent;
      continue;
    }
    auto step = MakeStep(next);
    // Without the segments before it, an object would lead nowhere.
    if (!step) return tl::unexpected(step.error());
    next = step->parent;
    steps.push_back(*std::move(step));
  }
  uint64_t bytes = 0;
  if (Status sent = SendIdentity(); !sent) return tl::unexpected(sent.error());
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    auto sent = Send(&*step);
    if (!sent) return sent;
    bytes += *sent;
    if (step->header.tokens.size() < kRemoteBlockTokens) shorts.push_back(step->entry);
    const auto rows = RowsOf(*step, shorts);
    const Status added = options_->index->Add(rows, options_->ttl_s, DeadlineIn(kAddMsMax));
    index_breaker_->Note(added);
    if (!added) return tl::unexpected(added.error());
    known_->Put(step->name,
                {step->entry, step->parent, step->header.tokens.size() < kRemoteBlockTokens,
                 options_->clock->NowMs()});
  }
  return bytes;
}

Result<bool> RemoteUploader::IsThere(const std::string& path) {
  const auto there = options_->objects->Has(path, DeadlineIn(kHasMsMax));
  objects_breaker_->Note(there ? Status{} : Status(tl::unexpected(there.error())));
  return there;
}

bool RemoteUploader::MayRelyOn(const KnownRemote& known, uint64_t name_space) {
  if (options_->clock->NowMs() - known.refreshed_ms < kReliedOnMs) return true;
  const RemoteNames names(options_->keys.keys().front(), options_->fingerprint, name_space);
  // If that cannot be found out, the upload will fail anyway.
  return IsThere(names.PathOf(known.entry.id)).value_or(true);
}

void RemoteUploader::FillEntry(Step* step, uint64_t file_bytes, uint64_t front_bytes) const {
  const ObjectHeader& header = step->header;
  const RemoteNames names(options_->keys.keys().front(), options_->fingerprint, header.name_space);
  RemoteEntry& entry = step->entry;
  entry.kind = header.kind;
  entry.checkpoint_class = header.checkpoint_class;
  entry.has_logits = header.kind == ObjectKind::kSnapshot && header.logits_bytes > 0;
  entry.id = names.IdOf(step->name);
  entry.parent = names.IdOf(step->parent);
  entry.begin = header.begin;
  entry.end = header.tokens.size();
  entry.lineage = header.lineage;
  entry.worth_ms = header.worth_ms;
  entry.written_s = options_->now_s();
  entry.stored_bytes = options_->keys.seals() ? SealedBytes(file_bytes, front_bytes) : file_bytes;
}

Result<uint64_t> RemoteUploader::Send(Step* step) {
  const std::string model = options_->folder + "/" + ToText(options_->fingerprint);
  const std::string file_path = model + "/" + ObjectFileName(step->name);
  const auto stat = options_->fs->Stat(file_path);
  if (!stat) return tl::unexpected(stat.error());
  FillEntry(step, stat->bytes, stat->bytes - step->header.stored_bytes);
  const RemoteNames names(options_->keys.keys().front(), options_->fingerprint,
                          step->header.name_space);
  const std::string path = names.PathOf(step->entry.id);
  const auto there = IsThere(path);
  if (!there) return tl::unexpected(there.error());
  if (*there) return 0;
  auto file = options_->fs->Read(file_path, 0, stat->bytes);
  if (!file) return tl::unexpected(file.error());
  // A bad file would be bad everywhere.
  const auto checked = CheckObject(*file);
  if (!checked) return tl::unexpected(checked.error());
  const size_t front_bytes = file->size() - checked->stored_bytes;
  const Bytes sealed = Seal(options_->keys, path, *std::move(file), front_bytes);
  TraceSpan span(options_->trace, "remote upload");
  span.Add("bytes", sealed.size());
  const double begin_ms = options_->clock->NowMs();
  const double ms_max = std::max(kPutMsMin, static_cast<double>(sealed.size()) / kBytesPerMsMin);
  const Status put = options_->objects->Put(path, sealed, DeadlineIn(ms_max));
  objects_breaker_->Note(put);
  if (!put) return tl::unexpected(put.error());
  const double now_ms = options_->clock->NowMs();
  pace_.AddTransfer(sealed.size(), now_ms - begin_ms, now_ms);
  ++uploaded_;
  uploaded_bytes_ += sealed.size();
  return sealed.size();
}

Status RemoteUploader::SendIdentity() {
  if (sent_identity_ || options_->identity.empty()) return {};
  const RemoteNames names(options_->keys.keys().front(), options_->fingerprint, 0);
  const std::string path = names.IdentityPath();
  const ByteSpan text = BytesOf(options_->identity);
  const Bytes sealed = Seal(options_->keys, path, Bytes(text.begin(), text.end()), text.size());
  const Status put = options_->objects->Put(path, sealed, DeadlineIn(kPutMsMin));
  objects_breaker_->Note(put);
  sent_identity_ = put.has_value();
  return put;
}

std::vector<RemoteIndex::Row> RemoteUploader::RowsOf(const Step& step,
                                                     const std::vector<RemoteEntry>& shorts) const {
  const RemoteNames names(options_->keys.keys().front(), options_->fingerprint,
                          step.header.name_space);
  const std::vector<BlockHash> blocks = names.Blocks(step.header.tokens);
  std::vector<RemoteIndex::Row> rows;
  for (const size_t block : BlocksOf(step.header)) {
    rows.push_back({names.IndexKeyOf(blocks[block]), step.entry});
  }
  if (blocks.empty()) return rows;
  for (const RemoteEntry& entry : shorts) {
    rows.push_back({names.IndexKeyOf(blocks.front()), entry});
  }
  return rows;
}

void RemoteUploader::AddTo(RemoteStats* stats) const {
  stats->uploaded = uploaded_;
  stats->uploaded_bytes = uploaded_bytes_;
}

}  // namespace cairn
