// cairn cache verify: reads every file.

#include <algorithm>
#include <cstdio>

#include "base/json.h"
#include "cmd/cache/cache_commands.h"
#include "cmd/cache/cache_text.h"
#include "cmd/lib/progress_line.h"

namespace cairn {
namespace {

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
