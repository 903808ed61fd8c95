// cairn cache export and import: a conversation's checkpoints as one file. docs/format.md specifies
// it.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>

#include "cmd/cache_commands.h"
#include "cmd/cache_text.h"
#include "cmd/progress_line.h"

namespace cairn {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMagicLine = "cairn export 1\n";
// What begins so and goes on otherwise is of another version.
constexpr std::string_view kMagicWord = "cairn export ";
constexpr size_t kSizeBytes = 8;

std::array<uint8_t, kSizeBytes> EncodeSize(uint64_t size) {
  std::array<uint8_t, kSizeBytes> bytes{};
  for (size_t i = 0; i < kSizeBytes; ++i) bytes[i] = static_cast<uint8_t>(size >> (8 * i));
  return bytes;
}

uint64_t DecodeSize(ByteSpan bytes) {
  uint64_t size = 0;
  for (size_t i = 0; i < kSizeBytes; ++i) size |= uint64_t{bytes[i]} << (8 * i);
  return size;
}

ByteSpan BytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// What an object needs before it: the segments of its path, then snapshots, then itself.
struct Selection {
  std::vector<const FoundObject*> objects;
  ObjectPath path;
};

Result<Selection> Select(const ObjectFolder& folder, const FolderContents& contents,
                         const FoundObject& object) {
  auto path = folder.FindPath(contents, object);
  if (!path) return tl::unexpected(path.error());
  const auto snapshots = folder.SnapshotsOn(contents, object, *path);
  if (!snapshots) return tl::unexpected(snapshots.error());
  Selection selection = {path->segments, *std::move(path)};
  auto& objects = selection.objects;
  for (const FoundObject* const snapshot : *snapshots) objects.push_back(snapshot);
  if (std::find(objects.begin(), objects.end(), &object) == objects.end()) {
    objects.push_back(&object);
  }
  return selection;
}

// Returns the bytes of the file.
Result<uint64_t> WriteObjects(const ObjectFolder& folder,
                              const std::vector<const FoundObject*>& objects, FileWriter* writer) {
  uint64_t bytes = kMagicLine.size() + kSizeBytes;
  Status written = writer->Append(BytesOf(kMagicLine));
  ProgressLine line("Exporting");
  size_t done = 0;
  for (const FoundObject* const object : objects) {
    const Result<Bytes> file = folder.ReadFile(*object);
    if (!file) return tl::unexpected(file.error());
    if (written) written = writer->Append(EncodeSize(file->size()));
    if (written) written = writer->Append(*file);
    if (!written) return tl::unexpected(written.error());
    bytes += kSizeBytes + file->size();
    line.Update(static_cast<float>(++done) / static_cast<float>(objects.size()));
  }
  written = writer->Append(EncodeSize(0));
  if (written) written = writer->Sync();
  if (written) written = writer->Close();
  if (!written) return tl::unexpected(written.error());
  return bytes;
}

// The file appears whole or not at all.
Result<uint64_t> WriteExport(const CacheRun& run, const ObjectFolder& folder,
                             const std::vector<const FoundObject*>& objects) {
  const std::string temp = run.options.file + ".tmp-" + std::to_string(getpid());
  auto writer = run.fs->Create(temp);
  if (!writer) return tl::unexpected(writer.error());
  auto bytes = WriteObjects(folder, objects, writer->get());
  if (bytes) {
    if (Status renamed = run.fs->Rename(temp, run.options.file); !renamed) {
      bytes = tl::unexpected(renamed.error());
    }
  }
  if (!bytes) static_cast<void>(run.fs->Remove(temp));
  return bytes;
}

// Reads an exported file from its begin to its end.
class ExportReader {
 public:
  ExportReader(const Fs* fs, std::string path, uint64_t file_bytes)
      : fs_(fs), path_(std::move(path)), file_bytes_(file_bytes) {}

  Status ReadMagic() {
    const auto line = fs_->Read(path_, 0, kMagicLine.size());
    if (!line) return tl::unexpected(line.error());
    const std::string_view text(reinterpret_cast<const char*>(line->data()), line->size());
    at_ = kMagicLine.size();
    if (text == kMagicLine) return {};
    if (!text.starts_with(kMagicWord)) {
      return Fail(ErrorCode::kCorrupt, "\"" + path_ +
                                           "\" is no file that cairn cache export made: "
                                           "it does not begin with \"cairn export\"");
    }
    return Fail(ErrorCode::kUnsupported,
                "\"" + path_ +
                    "\" was exported by another version of cairn; this one reads "
                    "\"cairn export 1\"");
  }
  // The next object's file; empty at the end.
  Result<Bytes> Next() {
    const auto size_bytes = fs_->Read(path_, at_, kSizeBytes);
    if (!size_bytes) return size_bytes;
    if (size_bytes->size() < kSizeBytes) return EndsEarly();
    const uint64_t size = DecodeSize(*size_bytes);
    at_ += kSizeBytes;
    if (size > file_bytes_ - at_) return EndsEarly();
    if (size == 0) {
      if (at_ == file_bytes_) return Bytes();
      return Fail(ErrorCode::kCorrupt, "\"" + path_ + "\" goes on behind its end");
    }
    auto object = fs_->Read(path_, at_, size);
    if (object && object->size() < size) return EndsEarly();
    at_ += size;
    return object;
  }
  // The share that is read.
  float share() const { return static_cast<float>(at_) / static_cast<float>(file_bytes_); }

 private:
  tl::unexpected<Error> EndsEarly() const {
    return Fail(ErrorCode::kCorrupt, "\"" + path_ + "\" ends early, after " +
                                         std::to_string(file_bytes_) +
                                         " bytes; copy it again from where it was exported");
  }

  const Fs* const fs_;
  const std::string path_;
  const uint64_t file_bytes_;
  uint64_t at_ = 0;
};

struct Imported {
  size_t written = 0;
  size_t there = 0;  // already
  uint64_t bytes = 0;
};

Result<Imported> ReadObjects(const CacheRun& run, ExportReader* reader) {
  ObjectFolder folder(run.fs, run.options.folder);
  Imported imported;
  ProgressLine line("Importing");
  for (size_t number = 1;; ++number) {
    const Result<Bytes> file = reader->Next();
    if (!file) return tl::unexpected(file.error());
    if (file->empty()) return imported;
    const auto header = CheckObject(*file);
    if (!header) {
      return Fail(header.error().code, "object " + std::to_string(number) + " of \"" +
                                           run.options.file +
                                           "\" is bad: " + header.error().message);
    }
    const Result<bool> written = folder.WriteFile(*header, *file);
    if (!written) return tl::unexpected(written.error());
    if (*written) {
      ++imported.written;
      imported.bytes += file->size();
    } else {
      ++imported.there;
    }
    line.Update(reader->share());
  }
}

}  // namespace

Result<int> ExportCache(const CacheRun& run) {
  const auto contents = ScanCache(run);
  if (!contents) return tl::unexpected(contents.error());
  const auto object = FindNamed(*contents, run.options.names.front());
  if (!object) return tl::unexpected(object.error());
  const ObjectFolder folder(run.fs, run.options.folder);
  const auto selection = Select(folder, *contents, **object);
  if (!selection) return tl::unexpected(selection.error());
  const auto bytes = WriteExport(run, folder, selection->objects);
  if (!bytes) return tl::unexpected(bytes.error());
  if (!selection->path.whole) {
    std::fprintf(stderr,
                 "cairn cache export: the path is not whole: %s; a model with attention KV will "
                 "read the tokens again\n",
                 selection->path.gap.c_str());
  }
  if (run.options.json) {
    Json json = {{"file", run.options.file},
                 {"bytes", *bytes},
                 {"path_whole", selection->path.whole},
                 {"objects", Json::array()}};
    for (const FoundObject* const exported : selection->objects) {
      json["objects"].push_back(ToText(exported->name));
    }
    PrintJson(json);
  } else {
    std::printf("%s: %s, %s\n", run.options.file.c_str(),
                CountText(selection->objects.size(), "object").c_str(), BytesText(*bytes).c_str());
  }
  return 0;
}

Result<int> ImportCache(const CacheRun& run) {
  const auto stat = run.fs->Stat(run.options.file);
  if (!stat) return tl::unexpected(stat.error());
  ExportReader reader(run.fs, run.options.file, stat->bytes);
  if (Status begun = reader.ReadMagic(); !begun) return tl::unexpected(begun.error());
  const auto imported = ReadObjects(run, &reader);
  if (!imported) return tl::unexpected(imported.error());
  if (run.options.json) {
    PrintJson({{"cache_dir", run.options.folder},
               {"imported", imported->written},
               {"imported_bytes", imported->bytes},
               {"there_already", imported->there}});
  } else {
    std::printf("%s imported, %s; %zu there already\n",
                CountText(imported->written, "object").c_str(), BytesText(imported->bytes).c_str(),
                imported->there);
  }
  return 0;
}

}  // namespace cairn
