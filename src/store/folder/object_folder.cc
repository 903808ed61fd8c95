#include "store/folder/object_folder.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "store/codec/codec.h"
#include "store/disk/disk_files.h"
#include "store/folder/identity.h"

namespace cairn {
namespace {

constexpr std::string_view kLockFile = "lock";

tl::unexpected<Error> CorruptFile(const std::string& why) {
  return Fail(ErrorCode::kCorrupt, why);
}

std::string Foreign(const std::string& path) {
  return "\"" + path + "\": it is none of ours";
}

Status CheckStored(const ObjectHeader& header, ByteSpan payload) {
  if (payload.size() != header.stored_bytes) {
    return CorruptFile("of " + std::to_string(header.stored_bytes) + " bytes it has " +
                       std::to_string(payload.size()));
  }
  if (PayloadChecksum(payload) != header.payload_checksum) {
    return CorruptFile("the checksum of its payload is wrong");
  }
  if (header.codec == Codec::kRaw && header.raw_bytes != header.stored_bytes) {
    return CorruptFile("its sizes disagree");
  }
  return {};
}

struct OpenedFile {
  ObjectHeader header;
  ByteSpan payload;  // encoded
};

Result<OpenedFile> OpenFile(ByteSpan file) {
  const Result<size_t> front = FrontBytes(file.first(std::min(file.size(), kFrontBytesMin)));
  if (!front) return tl::unexpected(front.error());
  if (*front > file.size()) return CorruptFile("it ends within its front");
  Result<ObjectHeader> header = DecodeHeader(file.first(*front));
  if (!header) return tl::unexpected(header.error());
  const ByteSpan payload = file.subspan(*front);
  if (Status good = CheckStored(*header, payload); !good) return tl::unexpected(good.error());
  return OpenedFile{std::move(*header), payload};
}

// Whether `longer` begins with all of `tokens`.
bool BeginsSo(const Tokens& longer, const Tokens& tokens) {
  return longer.size() >= tokens.size() && CommonPrefix(longer, tokens) == tokens.size();
}

// Returns the hashes by which DiskIndex finds the segments along `tokens`, for states of that
// lineage.
std::set<uint64_t> BlocksAlong(const FoundObject& object, const Tokens& tokens, LineageId lineage) {
  ObjectHeader header = object.header;
  header.kind = ObjectKind::kSegment;
  header.begin = 0;
  header.lineage = lineage;
  header.tokens = tokens;
  const std::vector<uint64_t> blocks = DiskIndex::EntryOf(header, {}, {}).blocks;
  return {blocks.begin(), blocks.end()};
}

// Returns the lineage of the bits before `position`; nullopt if the path does not tell.
std::optional<LineageId> LineageBefore(const FoundObject& object, const ObjectPath& path,
                                       size_t position) {
  if (object.header.kind == ObjectKind::kFullState) {
    return Provenance{object.header.clean, object.header.runs, {}}.LineageAt(position);
  }
  for (const FoundObject* const segment : path.segments) {
    if (segment->header.begin < position && position <= segment->end) {
      return segment->header.lineage;
    }
  }
  return std::nullopt;
}

}  // namespace

Result<ObjectHeader> CheckObject(ByteSpan file) {
  Result<OpenedFile> opened = OpenFile(file);
  if (!opened) return tl::unexpected(opened.error());
  ObjectHeader& header = opened->header;
  if (header.codec != Codec::kRaw) {
    const Result<Bytes> raw = Decode(header.codec, opened->payload, header.raw_bytes);
    if (!raw) return tl::unexpected(raw.error());
  }
  return std::move(header);
}

Result<LoadedObject> LoadObject(Bytes file) {
  Result<OpenedFile> opened = OpenFile(file);
  if (!opened) return tl::unexpected(opened.error());
  LoadedObject object{std::move(opened->header), {}};
  if (object.header.codec == Codec::kRaw) {
    // Erased in place, so that a long segment is in memory only once.
    const size_t front_bytes = file.size() - opened->payload.size();
    file.erase(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(front_bytes));
    object.payload = std::move(file);
    return object;
  }
  Result<Bytes> raw = Decode(object.header.codec, opened->payload, object.header.raw_bytes);
  if (!raw) return tl::unexpected(raw.error());
  object.payload = std::move(*raw);
  return object;
}

const FoundObject* FolderContents::Find(const std::string& model, const ObjectName& name) const {
  const auto found = std::find_if(objects.begin(), objects.end(), [&](const FoundObject& object) {
    return object.name == name && object.model == model;
  });
  return found == objects.end() ? nullptr : &*found;
}

std::string ObjectFolder::PathOf(const FoundObject& object) const {
  return path_ + "/" + object.model + "/" + ObjectFileName(object.name);
}

Result<FolderContents> ObjectFolder::Scan(const Progress& progress) const {
  auto names = fs_->List(path_);
  if (!names) return tl::unexpected(names.error());
  std::sort(names->begin(), names->end());
  FolderContents contents;
  const auto say = [&](size_t done, float of_next) {
    if (!progress) return;
    progress((static_cast<float>(done) + of_next) / static_cast<float>(names->size()));
  };
  for (size_t i = 0; i < names->size(); ++i) {
    const std::string& name = (*names)[i];
    if (IsModelFolder(name)) {
      contents.models.push_back(name);
      ScanModel(name, [&](float share) { say(i, share); }, &contents);
    } else if (name != kLockFile && name != kGridsFolder) {
      const auto stat = fs_->Stat(path_ + "/" + name);
      FoundFile file = {path_ + "/" + name, stat ? stat->bytes : 0, stat ? stat->time_ns : 0};
      file.why = Foreign(file.path);
      contents.bad.push_back(std::move(file));
    }
  }
  return contents;
}

void ObjectFolder::ScanModel(const std::string& model, const Progress& progress,
                             FolderContents* contents) const {
  auto files = fs_->List(path_ + "/" + model);
  if (!files) {
    if (files.error().code == ErrorCode::kNotFound) return;
    FoundFile folder = {path_ + "/" + model};
    folder.why = files.error().message;
    contents->bad.push_back(std::move(folder));
    return;
  }
  std::sort(files->begin(), files->end());
  for (size_t i = 0; i < files->size(); ++i) {
    ScanFile(model, (*files)[i], contents);
    progress(static_cast<float>(i + 1) / static_cast<float>(files->size()));
  }
}

void ObjectFolder::ScanFile(const std::string& model, const std::string& file,
                            FolderContents* contents) const {
  const std::string path = path_ + "/" + model + "/" + file;
  const auto stat = fs_->Stat(path);
  if (!stat && stat.error().code == ErrorCode::kNotFound) return;
  FoundFile found = {path, stat ? stat->bytes : 0, stat ? stat->time_ns : 0};
  const ObjectName name = ParseObjectFileName(file);
  if (!stat) {
    found.why = stat.error().message;
  } else if (IsTempFile(file)) {
    contents->unfinished.push_back(std::move(found));
    return;
  } else if (file == kIdentityFile) {
    auto identity = ReadIdentity(*fs_, path_, model);
    if (identity) {
      contents->identities[model] = *std::move(identity);
      return;
    }
    found.why = identity.error().message;
  } else if (name.empty()) {
    found.why = Foreign(path);
  } else {
    Result<Front> front = ReadFront(*fs_, path_ + "/" + model, name, stat->bytes);
    if (front) {
      contents->index.Put(DiskIndex::EntryOf(front->header, name, *stat));
      FoundObject object = {model, name, stat->bytes, stat->time_ns, std::move(front->header), 0};
      object.end = object.header.tokens.size();
      object.header.tokens = Tokens();  // frees the memory
      contents->objects.push_back(std::move(object));
      return;
    }
    if (front.error().code == ErrorCode::kNotFound) return;
    found.removable = front.error().code == ErrorCode::kCorrupt;
    found.why = front.error().message;
    if (front.error().code == ErrorCode::kUnsupported) {
      contents->newer.push_back(std::move(found));
      return;
    }
  }
  contents->bad.push_back(std::move(found));
}

Status ObjectFolder::Verify(const FoundObject& object) const {
  const auto whole = ReadWholeObject(*fs_, path_ + "/" + object.model, object.name);
  if (!whole) return tl::unexpected(whole.error());
  return {};
}

Result<Tokens> ObjectFolder::TokensOf(const FoundObject& object) const {
  Result<Front> front = ReadFront(*fs_, path_ + "/" + object.model, object.name, object.file_bytes);
  if (!front) return tl::unexpected(front.error());
  return std::move(front->header.tokens);
}

// Finds a segment that reaches that far, of the same client and run, and with the same tokens up to
// there.
Result<const FoundObject*> ObjectFolder::HolderOf(const FolderContents& contents,
                                                  const FoundObject& snapshot,
                                                  const Tokens& tokens) const {
  const std::set<uint64_t> along = BlocksAlong(snapshot, tokens, snapshot.header.lineage);
  for (const FoundObject& object : contents.objects) {
    const ObjectHeader& header = object.header;
    if (header.kind != ObjectKind::kSegment || object.model != snapshot.model ||
        header.name_space != snapshot.header.name_space ||
        header.lineage != snapshot.header.lineage || header.begin >= snapshot.end ||
        object.end < snapshot.end) {
      continue;
    }
    const DiskEntry* const entry = contents.index.Find(object.model, object.name);
    const bool near = std::any_of(entry->blocks.begin(), entry->blocks.end(),
                                  [&](uint64_t block) { return along.contains(block); });
    if (!near) continue;
    const Result<Tokens> its = TokensOf(object);
    if (!its) return tl::unexpected(its.error());
    if (BeginsSo(*its, tokens)) return &object;
  }
  return nullptr;
}

Result<ObjectPath> ObjectFolder::FindPath(const FolderContents& contents,
                                          const FoundObject& object) const {
  ObjectPath path;
  const FoundObject* segment = &object;
  if (object.header.kind == ObjectKind::kFullState ||
      object.header.kind == ObjectKind::kMediaRows) {
    path.whole = true;
    return path;
  }
  if (object.header.kind == ObjectKind::kSnapshot) {
    const Result<Tokens> tokens = TokensOf(object);
    if (!tokens) return tl::unexpected(tokens.error());
    const auto holder = HolderOf(contents, object, *tokens);
    if (!holder) return tl::unexpected(holder.error());
    segment = *holder;
    if (segment == nullptr) {
      path.gap = "no segment holds the KV of its last token";
      return path;
    }
  }
  // Each segment begins before the ones that begin in it, so this loop ends.
  while (true) {
    path.segments.insert(path.segments.begin(), segment);
    const ObjectHeader& header = segment->header;
    if (header.parent.empty()) break;
    const FoundObject* const parent = contents.Find(segment->model, header.parent);
    if (parent == nullptr || parent->header.kind != ObjectKind::kSegment ||
        parent->header.begin >= header.begin || parent->end < header.begin) {
      path.gap = "segment " + ToText(segment->name) + " begins at " + std::to_string(header.begin) +
                 " in " + ToText(header.parent) + ", which is not there";
      return path;
    }
    segment = parent;
  }
  path.whole = path.segments.front()->header.begin == 0;
  if (!path.whole) path.gap = "its first segment does not begin at 0";
  return path;
}

Result<std::vector<const FoundObject*>> ObjectFolder::SnapshotsOn(const FolderContents& contents,
                                                                  const FoundObject& object,
                                                                  const ObjectPath& path) const {
  if (object.header.kind == ObjectKind::kMediaRows) return std::vector<const FoundObject*>{};
  const Result<Tokens> tokens = TokensOf(object);
  if (!tokens) return tl::unexpected(tokens.error());
  std::map<LineageId, std::set<uint64_t>> along;
  std::vector<const FoundObject*> snapshots;
  for (const FoundObject& other : contents.objects) {
    const ObjectHeader& header = other.header;
    if (header.kind != ObjectKind::kSnapshot || other.model != object.model ||
        header.name_space != object.header.name_space || other.end > object.end) {
      continue;
    }
    const auto lineage = LineageBefore(object, path, other.end);
    // If no segment tells the lineage, objects on the grid match every path.
    if (lineage ? *lineage != header.lineage
                : header.lineage != 0 && header.lineage != object.header.lineage) {
      continue;
    }
    const auto [blocks, fresh] = along.try_emplace(header.lineage);
    if (fresh) blocks->second = BlocksAlong(object, *tokens, header.lineage);
    const DiskEntry* const entry = contents.index.Find(other.model, other.name);
    if (entry->blocks.empty() || !blocks->second.contains(entry->blocks.front())) continue;
    const Result<Tokens> its = TokensOf(other);
    if (!its) return tl::unexpected(its.error());
    if (BeginsSo(*tokens, *its)) snapshots.push_back(&other);
  }
  std::sort(snapshots.begin(), snapshots.end(),
            [](const FoundObject* a, const FoundObject* b) { return a->end < b->end; });
  return snapshots;
}

Result<Bytes> ObjectFolder::ReadFile(const FoundObject& object) const {
  const std::string path = PathOf(object);
  Result<Bytes> file = fs_->Read(path, 0, object.file_bytes);
  if (!file) return file;
  const auto header = CheckObject(*file);
  if (!header) return CorruptFile("\"" + path + "\": " + header.error().message);
  if (NameOf(*header) != object.name) return CorruptFile("\"" + path + "\": it is another object");
  return file;
}

Result<bool> ObjectFolder::WriteFile(const ObjectHeader& header, ByteSpan file) {
  const std::string folder = path_ + "/" + ToText(header.fingerprint);
  const std::string name = ObjectFileName(NameOf(header));
  if (fs_->Stat(folder + "/" + name)) return false;
  if (Status put = PutFile(fs_, folder, name, file); !put) return tl::unexpected(put.error());
  if (Status synced = fs_->SyncFolder(folder); !synced) return tl::unexpected(synced.error());
  return true;
}

}  // namespace cairn
