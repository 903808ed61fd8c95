#include "store/disk/disk_files.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "store/codec/codec.h"

namespace cairn {
namespace {

bool IsHexadecimal(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

tl::unexpected<Error> CorruptPath(const std::string& path, const std::string& what) {
  return Fail(ErrorCode::kCorrupt, "\"" + path + "\": " + what);
}

std::string LastFolderOf(const std::string& path) {
  return path.substr(path.find_last_of('/') + 1);
}

Result<Bytes> ReadFrontBytes(const Fs& fs, const std::string& path, uint64_t file_bytes) {
  Result<Bytes> begin = fs.Read(path, 0, kFrontBytesMin);
  if (!begin) return begin;
  const Result<size_t> size = FrontBytes(*begin);
  if (!size) return Fail(size.error().code, "\"" + path + "\": " + size.error().message);
  if (*size > file_bytes) return CorruptPath(path, "it ends within its front");
  if (*size <= begin->size()) {
    begin->resize(*size);
    return begin;
  }
  const Result<Bytes> rest = fs.Read(path, begin->size(), *size - begin->size());
  if (!rest) return tl::unexpected(rest.error());
  begin->insert(begin->end(), rest->begin(), rest->end());
  return begin;
}

Status WriteAndSync(Fs* fs, const std::string& path, ByteSpan bytes) {
  auto writer = fs->Create(path);
  if (!writer) return tl::unexpected(writer.error());
  if (Status written = (*writer)->Append(bytes); !written) return written;
  if (Status synced = (*writer)->Sync(); !synced) return synced;
  return (*writer)->Close();
}

}  // namespace

std::string ObjectFileName(const ObjectName& name) {
  return ToText(name) + std::string(kObjectSuffix);
}

ObjectName ParseObjectFileName(const std::string& file) {
  if (!file.ends_with(kObjectSuffix)) return {};
  const std::string digits = file.substr(0, file.size() - kObjectSuffix.size());
  const ObjectName name = ParseObjectName(digits);
  // Only one spelling per name is accepted: the index could not tell two files of the same name
  // apart.
  return name.empty() || ToText(name) != digits ? ObjectName{} : name;
}

bool IsModelFolder(const std::string& folder) {
  return folder.size() == kObjectNameDigits &&
         std::all_of(folder.begin(), folder.end(), IsHexadecimal);
}

bool IsTempFile(std::string_view file) {
  return file.starts_with(kTempPrefix);
}

bool IsNewer(const Fs& fs, const std::string& path) {
  const Result<Bytes> begin = fs.Read(path, 0, kFrontBytesMin);
  if (!begin) return begin.error().code == ErrorCode::kUnsupported;
  const Result<size_t> size = FrontBytes(*begin);
  return !size && size.error().code == ErrorCode::kUnsupported;
}

Result<Front> ReadFront(const Fs& fs, const std::string& path_of_model, const ObjectName& name,
                        uint64_t file_bytes) {
  const std::string path = path_of_model + "/" + ObjectFileName(name);
  const Result<Bytes> bytes = ReadFrontBytes(fs, path, file_bytes);
  if (!bytes) return tl::unexpected(bytes.error());
  Result<ObjectHeader> header = DecodeHeader(*bytes);
  if (!header) return CorruptPath(path, header.error().message);
  if (ToText(header->fingerprint) != LastFolderOf(path_of_model)) {
    return CorruptPath(path, "it belongs to the model " + ToText(header->fingerprint));
  }
  if (NameOf(*header) != name) {
    return CorruptPath(path, "it should be called " + ObjectFileName(NameOf(*header)));
  }
  // Written so that no sum can overflow, whatever the header says.
  if (header->stored_bytes != file_bytes - bytes->size()) {
    return CorruptPath(path, "of " + std::to_string(header->stored_bytes) + " bytes it has " +
                                 std::to_string(file_bytes - bytes->size()));
  }
  return Front{*std::move(header), bytes->size()};
}

namespace {

// `file_bytes` is the length of the file.
Result<WholeObject> ReadOnce(const Fs& fs, const std::string& path_of_model, const ObjectName& name,
                             uint64_t file_bytes) {
  const std::string path = path_of_model + "/" + ObjectFileName(name);
  const Result<Front> front = ReadFront(fs, path_of_model, name, file_bytes);
  if (!front) return tl::unexpected(front.error());
  const ObjectHeader& header = front->header;
  Result<Bytes> stored = fs.Read(path, front->bytes, header.stored_bytes);
  if (!stored) return tl::unexpected(stored.error());
  if (stored->size() != header.stored_bytes) return CorruptPath(path, "it was cut short");
  if (PayloadChecksum(*stored) != header.payload_checksum) {
    return CorruptPath(path, "the checksum of its payload is wrong");
  }
  if (header.codec == Codec::kRaw) {
    if (header.raw_bytes != header.stored_bytes) return CorruptPath(path, "its sizes disagree");
    return WholeObject{*std::move(stored), file_bytes};
  }
  Result<Bytes> raw = Decode(header.codec, *stored, header.raw_bytes);
  if (!raw) return CorruptPath(path, raw.error().message);
  return WholeObject{*std::move(raw), file_bytes};
}

}  // namespace

Result<WholeObject> ReadWholeObject(const Fs& fs, const std::string& path_of_model,
                                    const ObjectName& name) {
  const std::string path = path_of_model + "/" + ObjectFileName(name);
  Result<FileStat> before = fs.Stat(path);
  while (true) {
    if (!before) return tl::unexpected(before.error());
    Result<WholeObject> object = ReadOnce(fs, path_of_model, name, before->bytes);
    if (object || object.error().code != ErrorCode::kCorrupt) return object;
    const Result<FileStat> after = fs.Stat(path);
    const bool same = after && after->bytes == before->bytes && after->time_ns == before->time_ns;
    if (same) return object;
    before = after;
  }
}

Status PutFile(Fs* fs, const std::string& folder, const std::string& name, ByteSpan bytes) {
  if (Status made = fs->MakeFolders(folder); !made) return made;
  const std::string temp =
      folder + "/" + std::string(kTempPrefix) + name + "-" + std::to_string(getpid());
  Status written = WriteAndSync(fs, temp, bytes);
  if (written) written = fs->Rename(temp, folder + "/" + name);
  if (!written) static_cast<void>(fs->Remove(temp));
  return written;
}

}  // namespace cairn
