#include "sched/slot_files.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/utf8.h"
#include "media/media_tokens.h"
#include "sched/slot_commands.h"
#include "store/codec/codec.h"
#include "store/disk/disk_files.h"

namespace cairn {
namespace {

// File systems allow 255 bytes.
constexpr size_t kNameBytesMax = 200;
// Characters with a special meaning in a path, a shell or another operating system.
constexpr std::string_view kSpecialCharacters = "/\\:*?\"<>|";

bool IsControl(char c) {
  return static_cast<unsigned char>(c) < ' ' || c == '\x7f';
}

// Hidden, so that no client's file has such a name.
constexpr std::string_view kHiddenPrefix = ".tmp-";

// A client cannot do anything about a faulty folder, so all errors but a full device are internal.
Error WriteError(const Error& error) {
  const bool full = error.code == ErrorCode::kNoSpace;
  return {full ? error.code : ErrorCode::kInternal,
          "the slot could not be saved: " + error.message};
}

Error ReadError(const std::string& file, const Error& error) {
  switch (error.code) {
    case ErrorCode::kNotFound:
      return {ErrorCode::kInvalidArgument,
              "there is no file \"" + file + "\" in the folder of --slot-save-path"};
    case ErrorCode::kCorrupt:
    case ErrorCode::kUnsupported:
      return {ErrorCode::kInvalidArgument, error.message};
    default:
      return {ErrorCode::kInternal, "the slot could not be restored: " + error.message};
  }
}

}  // namespace

// Holding: ends the saving of a slot when it goes out of scope.
class SlotFiles::Holding {
 public:
  Holding(SlotCommands* slots, size_t slot) : slots_(slots), slot_(slot) {}
  ~Holding() { slots_->EndSaving(slot_); }
  Holding(const Holding&) = delete;
  Holding& operator=(const Holding&) = delete;

 private:
  SlotCommands* const slots_;
  const size_t slot_;
};

SlotFiles::SlotFiles(Fs* fs, SlotCommands* slots, const Clock* clock, SlotFilesOptions options)
    : fs_(fs),
      slots_(slots),
      clock_(clock),
      options_(std::move(options)),
      saved_as_(options_.saved_as) {}

bool SlotFiles::IsFileName(std::string_view name) {
  if (name.empty() || name.size() > kNameBytesMax) return false;
  // Hidden names are reserved for files being written; Windows drops dots and spaces at a name's
  // end.
  if (name.front() == '.' || name.front() == ' ' || name.back() == '.' || name.back() == ' ') {
    return false;
  }
  if (name.find("..") != std::string_view::npos) return false;
  if (name.find_first_of(kSpecialCharacters) != std::string_view::npos) return false;
  return std::none_of(name.begin(), name.end(), IsControl) && ToValidUtf8(name) == name;
}

void SlotFiles::RemoveLeftovers(int64_t now_ns) {
  const auto files = fs_->List(options_.folder);
  if (!files) return;
  for (const std::string& file : *files) {
    if (!file.starts_with(kHiddenPrefix)) continue;
    const auto stat = fs_->Stat(PathOf(file));
    if (stat && now_ns - stat->time_ns > kTempLifeNs) static_cast<void>(fs_->Remove(PathOf(file)));
  }
}

void SlotFiles::SetNameSpaces(SavedNames name_spaces) {
  const MutexLock lock(names_mutex_);
  saved_as_.name_spaces = std::move(name_spaces);
}

Result<uint64_t> SlotFiles::NameOf(NamespaceId name_space) const {
  const MutexLock lock(names_mutex_);
  if (const auto name = saved_as_.NameOf(name_space)) return *name;
  return Fail(ErrorCode::kInternal, "this client has no name to save conversations under");
}

Result<SlotFiles::Done> SlotFiles::Save(size_t slot, NamespaceId name_space,
                                        const std::string& file) {
  CHECK(IsFileName(file));
  const double began_ms = clock_->NowMs();
  const auto name = NameOf(name_space);
  if (!name) return tl::unexpected(name.error());
  const auto content = slots_->BeginSaving(slot, name_space);
  if (!content) return tl::unexpected(content.error());
  std::unique_ptr<ExportWriter> writer;
  {
    const Holding holding(slots_, slot);
    const std::string temp = PathOf(std::string(kHiddenPrefix) + std::to_string(getpid()) + "-" +
                                    std::to_string(++temps_));
    auto created = ExportWriter::Create(fs_, temp, PathOf(file));
    if (!created) return tl::unexpected(WriteError(created.error()));
    writer = std::move(*created);
    if (Status written = WriteParts(slot, *content, *name, writer.get()); !written) {
      return tl::unexpected(written.error());
    }
  }
  // The slot is free while the device writes.
  const auto bytes = writer->Finish();
  if (!bytes) return tl::unexpected(WriteError(bytes.error()));
  if (Status synced = fs_->SyncFolder(options_.folder); !synced) {
    return tl::unexpected(WriteError(synced.error()));
  }
  return Done{content->tokens.size(), *bytes, clock_->NowMs() - began_ms};
}

Status SlotFiles::WriteParts(size_t slot, const SlotContent& content, uint64_t name_space,
                             ExportWriter* writer) {
  ObjectName parent;
  for (const SlotPart& part : content.parts) {
    const auto bytes = slots_->TakePart(slot, part);
    if (!bytes) {
      const bool evicted = bytes.error().code == ErrorCode::kNotFound;
      if (evicted && part.kind == SlotPart::Kind::kCheckpoint) continue;
      return tl::unexpected(bytes.error());
    }
    ObjectHeader header = HeaderOf(content, part, parent);
    header.fingerprint = options_.saved_as.fingerprint;
    header.name_space = name_space;
    if (part.kind == SlotPart::Kind::kSegment) parent = cairn::NameOf(header);
    if (Status written = WriteObject(std::move(header), *bytes, writer); !written) {
      return tl::unexpected(WriteError(written.error()));
    }
  }
  return {};
}

Status SlotFiles::WriteObject(ObjectHeader header, const Bytes& bytes, ExportWriter* writer) const {
  const Encoded encoded = Encode(options_.codec, bytes);
  const ByteSpan stored = encoded.codec == Codec::kRaw ? ByteSpan(bytes) : ByteSpan(encoded.bytes);
  header.codec = encoded.codec;
  header.raw_bytes = bytes.size();
  header.stored_bytes = stored.size();
  header.payload_checksum = PayloadChecksum(stored);
  return writer->Add(EncodeHeader(header), stored);
}

Result<SlotFiles::Done> SlotFiles::Restore(size_t slot, NamespaceId name_space,
                                           const std::string& file) {
  CHECK(IsFileName(file));
  const double began_ms = clock_->NowMs();
  const auto name = NameOf(name_space);
  if (!name) return tl::unexpected(name.error());
  if (Status free = slots_->CheckFree(slot); !free) return tl::unexpected(free.error());
  const MutexLock alone(restore_mutex_);
  auto reader = ExportReader::Open(fs_, PathOf(file), file);
  if (!reader) return tl::unexpected(ReadError(file, reader.error()));
  auto objects = ReadObjects(*name, &*reader);
  if (!objects) return tl::unexpected(ReadError(file, objects.error()));
  auto saved = ToSavedSlot(std::move(*objects), options_.needs_snapshots);
  if (!saved) {
    const Error error = {saved.error().code,
                         "\"" + file + "\" cannot be restored: " + saved.error().message};
    return tl::unexpected(ReadError(file, error));
  }
  if (!options_.takes_media && HasMedia(saved->tokens)) {
    return Fail(ErrorCode::kInvalidArgument,
                "\"" + file +
                    "\" has images or audio. Cannot restore media tokens without an "
                    "mmproj; start the server with --mmproj, or restore another file");
  }
  saved->name_space = name_space;
  const size_t tokens = saved->tokens.size();
  if (Status restored = slots_->Restore(slot, std::move(*saved)); !restored) {
    const Error& error = restored.error();
    return Fail(error.code, "\"" + file + "\" cannot be restored: " + error.message);
  }
  return Done{tokens, reader->file_bytes(), clock_->NowMs() - began_ms};
}

Result<std::vector<LoadedObject>> SlotFiles::ReadObjects(uint64_t name_space,
                                                         ExportReader* reader) const {
  std::vector<LoadedObject> objects;
  while (true) {
    auto file = reader->Next();
    if (!file) return tl::unexpected(file.error());
    if (file->empty()) return objects;
    auto object = LoadObject(std::move(*file));
    if (!object) {
      return Fail(object.error().code, "object " + std::to_string(objects.size() + 1) + " of \"" +
                                           reader->name() + "\" is bad: " + object.error().message);
    }
    if (Status own = CheckOwner(object->header, name_space); !own) {
      return Fail(own.error().code, "\"" + reader->name() + "\" " + own.error().message);
    }
    objects.push_back(std::move(*object));
  }
}

Status SlotFiles::CheckOwner(const ObjectHeader& header, uint64_t name_space) const {
  if (header.fingerprint != options_.saved_as.fingerprint) {
    return Fail(ErrorCode::kCorrupt,
                "was saved by another model, or with settings or libraries that change the states' "
                "bits: its fingerprint is " +
                    ToText(header.fingerprint) + ", and this server " +
                    ToText(options_.saved_as.fingerprint));
  }
  if (header.name_space != name_space) {
    return Fail(ErrorCode::kCorrupt, "was saved with another API key, or without one");
  }
  return {};
}

}  // namespace cairn
