// cairn cache export and import: a conversation's checkpoints as one file. docs/format.md specifies
// it.

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/json.h"
#include "cmd/cache/cache_commands.h"
#include "cmd/lib/progress_line.h"
#include "store/export_file.h"

namespace cairn {
namespace {

// The objects to export: the segments of the path, then snapshots, then the object itself.
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

// Writes the file atomically. Returns its size.
Result<uint64_t> WriteExport(const CacheRun& run, const ObjectFolder& folder,
                             const std::vector<const FoundObject*>& objects) {
  const std::string& path = run.options.file;
  auto writer = ExportWriter::Create(run.fs, path + ".tmp-" + std::to_string(getpid()), path);
  if (!writer) return tl::unexpected(writer.error());
  ProgressLine line("Exporting");
  size_t done = 0;
  for (const FoundObject* const object : objects) {
    const Result<Bytes> file = folder.ReadFile(*object);
    if (!file) return tl::unexpected(file.error());
    if (Status added = (*writer)->Add(*file); !added) return tl::unexpected(added.error());
    line.Update(static_cast<float>(++done) / static_cast<float>(objects.size()));
  }
  return (*writer)->Finish();
}

struct Imported {
  size_t written = 0;
  size_t there = 0;  // already present
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

// cairn cache verify: reads every file.

// A segment whose parent is missing: it cannot be reached.
bool IsStranded(const FolderContents& contents, const FoundObject& object) {
  if (object.header.kind != ObjectKind::kSegment || object.header.parent.empty()) return false;
  return contents.index.Find(object.model, object.header.parent) == nullptr;
}

void PrintVerifiedText(const CacheVerdict& verdict) {
  for (const FoundFile& file : verdict.bad) std::printf("bad: %s\n", file.why.c_str());
  for (const FoundFile& file : verdict.newer) {
    std::printf("newer format: %s\n", file.why.c_str());
  }
  for (const std::string& path : verdict.stranded) {
    std::printf("stranded: \"%s\": its parent segment is missing\n", path.c_str());
  }
  for (const FoundFile& file : verdict.unfinished) {
    std::printf("unfinished: \"%s\": being written, or left by a server that was killed\n",
                file.path.c_str());
  }
  const std::string newer =
      verdict.newer.empty() ? ""
                            : ", " + std::to_string(verdict.newer.size()) + " of a newer format";
  std::printf("%s good, %s read; %zu bad, %zu stranded, %zu unfinished%s\n",
              CountText(verdict.good, "object").c_str(), BytesText(verdict.read_bytes).c_str(),
              verdict.bad.size(), verdict.stranded.size(), verdict.unfinished.size(),
              newer.c_str());
  const auto removable = std::count_if(verdict.bad.begin(), verdict.bad.end(),
                                       [](const FoundFile& file) { return file.removable; });
  if (removable == 0) return;
  std::printf("`cairn cache prune --bad` removes %td of them\n", removable);
}

void PrintVerifiedJson(const CacheRun& run, const CacheVerdict& verdict) {
  Json json = {{"cache_dir", run.options.folder},  {"good", verdict.good},
               {"read_bytes", verdict.read_bytes}, {"bad", Json::array()},
               {"newer_format", Json::array()},    {"stranded", verdict.stranded},
               {"unfinished", Json::array()}};
  for (const FoundFile& file : verdict.bad) {
    json["bad"].push_back({{"file", file.path},
                           {"bytes", file.bytes},
                           {"why", file.why},
                           {"removable", file.removable}});
  }
  for (const FoundFile& file : verdict.newer) {
    json["newer_format"].push_back({{"file", file.path}, {"bytes", file.bytes}, {"why", file.why}});
  }
  for (const FoundFile& file : verdict.unfinished) {
    json["unfinished"].push_back({{"file", file.path}, {"bytes", file.bytes}});
  }
  PrintJson(json);
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
                 "cairn cache export: the path is incomplete: %s; a model with attention KV will "
                 "prefill these tokens again\n",
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
  auto reader = ExportReader::Open(run.fs, run.options.file, run.options.file);
  if (!reader) return tl::unexpected(reader.error());
  const auto imported = ReadObjects(run, &*reader);
  if (!imported) return tl::unexpected(imported.error());
  if (run.options.json) {
    PrintJson({{"cache_dir", run.options.folder},
               {"imported", imported->written},
               {"imported_bytes", imported->bytes},
               {"there_already", imported->there}});
  } else {
    std::printf("%s imported, %s; %zu already present\n",
                CountText(imported->written, "object").c_str(), BytesText(imported->bytes).c_str(),
                imported->there);
  }
  return 0;
}

CacheVerdict Verify(const CacheRun& run, FolderContents* contents) {
  const ObjectFolder folder(run.fs, run.options.folder);
  CacheVerdict verdict;
  verdict.bad = contents->bad;
  verdict.newer = contents->newer;
  verdict.unfinished = contents->unfinished;
  uint64_t bytes = 0;
  for (const FoundObject& object : contents->objects) bytes += object.file_bytes;
  ProgressLine line("Reading " + run.options.folder);
  for (const FoundObject& object : contents->objects) {
    const Status good = folder.Verify(object);
    verdict.read_bytes += object.file_bytes;
    line.Update(static_cast<float>(verdict.read_bytes) / static_cast<float>(bytes));
    if (good) {
      ++verdict.good;
      continue;
    }
    contents->index.Erase(object.model, object.name);
    const ErrorCode code = good.error().code;
    if (code == ErrorCode::kNotFound) continue;
    // A newer version may have replaced the file since the scan.
    auto* const list = code == ErrorCode::kUnsupported ? &verdict.newer : &verdict.bad;
    list->push_back({folder.PathOf(object), object.file_bytes, object.time_ns,
                     code == ErrorCode::kCorrupt, good.error().message});
  }
  for (const FoundObject& object : contents->objects) {
    if (contents->index.Find(object.model, object.name) == nullptr) continue;
    if (IsStranded(*contents, object)) verdict.stranded.push_back(folder.PathOf(object));
  }
  return verdict;
}

Result<int> VerifyCache(const CacheRun& run) {
  auto contents = ScanCache(run);
  if (!contents) return tl::unexpected(contents.error());
  const CacheVerdict verdict = Verify(run, &*contents);
  if (run.options.json) {
    PrintVerifiedJson(run, verdict);
  } else {
    PrintVerifiedText(verdict);
  }
  return verdict.bad.empty() ? 0 : 1;
}

}  // namespace cairn
