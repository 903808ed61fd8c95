// cairn cache ls and show.

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/json.h"
#include "cmd/cache/cache_commands.h"
#include "store/codec/codec.h"

namespace cairn {
namespace {

// Most recently used first.
std::vector<const FoundObject*> Sorted(const FolderContents& contents, const std::string& model) {
  std::vector<const FoundObject*> objects;
  for (const FoundObject& object : contents.objects) {
    if (model.empty() || object.model == model) objects.push_back(&object);
  }
  std::stable_sort(objects.begin(), objects.end(), [](const FoundObject* a, const FoundObject* b) {
    return a->time_ns > b->time_ns;
  });
  return objects;
}

std::map<std::string, ObjectTotal> TotalsByModel(const std::vector<const FoundObject*>& objects) {
  std::map<std::string, ObjectTotal> totals;
  for (const FoundObject* const object : objects) totals[object->model].Add(object->file_bytes);
  return totals;
}

std::map<std::string, ObjectTotal> TotalsByKind(const std::vector<const FoundObject*>& objects) {
  std::map<std::string, ObjectTotal> totals;
  for (const FoundObject* const object : objects) {
    totals[std::string(KindName(object->header.kind))].Add(object->file_bytes);
  }
  return totals;
}

ObjectTotal TotalOf(const std::vector<const FoundObject*>& objects) {
  ObjectTotal total;
  for (const FoundObject* const object : objects) total.Add(object->file_bytes);
  return total;
}

void PrintListText(const CacheRun& run, const FolderContents& contents,
                   const std::vector<const FoundObject*>& objects) {
  std::vector<std::vector<std::string>> rows = {
      {"NAME", "MODEL", "KIND", "CLASS", "TOKENS", "BYTES", "AGE", "CODEC"}};
  for (const FoundObject* const object : objects) {
    rows.push_back({ShortText(ToText(object->name)), ShortText(object->model),
                    std::string(KindName(object->header.kind)), ClassText(object->header),
                    TokensText(*object), BytesText(object->file_bytes),
                    AgeText(object->time_ns, run.now_ns),
                    std::string(CodecName(object->header.codec))});
  }
  if (!objects.empty()) std::printf("%s\n", TableText(rows).c_str());
  const ObjectTotal total = TotalOf(objects);
  std::string kinds;
  for (const auto& [kind, of_kind] : TotalsByKind(objects)) {
    kinds += (kinds.empty() ? ": " : ", ") + CountText(of_kind.objects, kind) + " " +
             BytesText(of_kind.bytes);
  }
  std::printf("%s, %s%s\n", CountText(total.objects, "object").c_str(),
              BytesText(total.bytes).c_str(), kinds.c_str());
  for (const auto& [model, of_model] : TotalsByModel(objects)) {
    const std::string name = ModelText(contents, model);
    std::printf("model %s%s%s: %s, %s\n", ShortText(model).c_str(), name.empty() ? "" : " ",
                name.c_str(), CountText(of_model.objects, "object").c_str(),
                BytesText(of_model.bytes).c_str());
  }
  if (!contents.newer.empty()) {
    std::printf("%s more of a newer version of cairn, or sealed with another key\n",
                CountText(contents.newer.size(), "object").c_str());
  }
  if (contents.bad.empty()) return;
  std::printf("%s more cannot be used; `cairn cache verify` says why\n",
              CountText(contents.bad.size(), "file").c_str());
}

Json ModelJson(const FolderContents& contents, const std::string& model, const ObjectTotal& total) {
  Json json = {{"model", model}};
  const std::string name = ModelText(contents, model);
  if (!name.empty()) json["description"] = name;
  json["objects"] = total.objects;
  json["bytes"] = total.bytes;
  return json;
}

void PrintListJson(const CacheRun& run, const FolderContents& contents,
                   const std::vector<const FoundObject*>& objects) {
  const ObjectTotal total = TotalOf(objects);
  Json json = {{"cache_dir", run.options.folder},
               {"objects", Json::array()},
               {"models", Json::array()},
               {"total_objects", total.objects},
               {"total_bytes", total.bytes},
               {"unusable_files", contents.bad.size()},
               {"newer_format_files", contents.newer.size()},
               {"unfinished_files", contents.unfinished.size()}};
  for (const FoundObject* const object : objects) {
    json["objects"].push_back(ObjectJson(*object, run.now_ns));
  }
  for (const auto& [model, of_model] : TotalsByModel(objects)) {
    json["models"].push_back(ModelJson(contents, model, of_model));
  }
  PrintJson(json);
}

std::string RangesText(const std::vector<TokenRange>& ranges) {
  std::string text;
  for (const TokenRange& range : ranges) {
    text +=
        (text.empty() ? "" : ", ") + std::to_string(range.begin) + "-" + std::to_string(range.end);
  }
  return text.empty() ? "none" : text;
}

std::string RunsText(const std::vector<Run>& runs) {
  std::string text;
  for (const Run& run : runs) {
    text += (text.empty() ? "" : ", ") + std::to_string(run.lineage) + " from " +
            std::to_string(run.begin);
  }
  return text.empty() ? "none" : text;
}

std::string PathText(const ObjectPath& path) {
  const std::string count = CountText(path.segments.size(), "segment");
  return path.whole ? "complete, " + count : "incomplete: " + path.gap;
}

struct ShownObject {
  const FolderContents& contents;
  const FoundObject& object;
  ObjectPath path;
  std::vector<const FoundObject*> snapshots;  // snapshots along it
  std::string file;
};

void PrintField(const char* name, const std::string& value) {
  std::printf("%-16s %s\n", name, value.c_str());
}

void PrintKindText(const ShownObject& shown) {
  const ObjectHeader& header = shown.object.header;
  switch (header.kind) {
    case ObjectKind::kSnapshot:
      PrintField("class", ClassText(header));
      PrintField("cold end", header.cold_end ? "yes: the end of a prompt of a cold run" : "no");
      PrintField("logits", header.logits_bytes > 0 ? BytesText(header.logits_bytes) : "none");
      PrintField("turns", header.turns > 0 ? std::to_string(header.turns) : "unknown");
      break;
    case ObjectKind::kSegment:
      PrintField("begins in",
                 header.parent.empty() ? "none: it begins at 0" : ToText(header.parent));
      PrintField("answers", RangesText(header.answers));
      break;
    case ObjectKind::kFullState:
      PrintField("on the grid to", std::to_string(header.clean));
      PrintField("runs", RunsText(header.runs));
      PrintField("answers", RangesText(header.answers));
      return;  // it has no path
    case ObjectKind::kMediaRows:
      return;
  }
  PrintField("path", PathText(shown.path));
  for (const FoundObject* const segment : shown.path.segments) {
    PrintField("", ToText(segment->name) + "  " + TokensText(*segment) + "  " +
                       BytesText(segment->file_bytes));
  }
}

void PrintShownText(const CacheRun& run, const ShownObject& shown) {
  const FoundObject& object = shown.object;
  const ObjectHeader& header = object.header;
  const std::string model = ModelText(shown.contents, object.model);
  PrintField("name", ToText(object.name));
  PrintField("model", object.model + (model.empty() ? "" : " " + model));
  PrintField("file", shown.file);
  PrintField("namespace", header.name_space == 0 ? "none: requests without an API key"
                                                 : std::to_string(header.name_space));
  PrintField("kind", std::string(KindName(header.kind)));
  PrintField("tokens", TokensText(object));
  PrintField("bytes",
             std::to_string(object.file_bytes) + " (" + BytesText(object.file_bytes) + ")");
  PrintField("payload", std::to_string(header.stored_bytes) + " bytes, " +
                            std::string(CodecName(header.codec)) + " of " +
                            std::to_string(header.raw_bytes));
  PrintField("checksum", std::to_string(header.payload_checksum));
  PrintField("last used", AgeText(object.time_ns, run.now_ns));
  PrintField("worth", std::to_string(header.worth_ms) + " ms");
  PrintField("run", header.lineage == 0 ? "none: on the grid" : std::to_string(header.lineage));
  PrintKindText(shown);
  PrintField("snapshots on it", std::to_string(shown.snapshots.size()));
  for (const FoundObject* const snapshot : shown.snapshots) {
    PrintField("", ToText(snapshot->name) + "  " + TokensText(*snapshot) + "  " +
                       ClassText(snapshot->header));
  }
}

Json RangesJson(const std::vector<TokenRange>& ranges) {
  Json json = Json::array();
  for (const TokenRange& range : ranges) {
    json.push_back({{"begin", range.begin}, {"end", range.end}});
  }
  return json;
}

Json NamesJson(const std::vector<const FoundObject*>& objects) {
  Json json = Json::array();
  for (const FoundObject* const object : objects) json.push_back(ToText(object->name));
  return json;
}

void PrintShownJson(const CacheRun& run, const ShownObject& shown) {
  const ObjectHeader& header = shown.object.header;
  Json json = ObjectJson(shown.object, run.now_ns);
  json["file"] = shown.file;
  // 64 bits, which not all JSON parsers support
  json["lineage"] = std::to_string(header.lineage);
  json["stored_bytes"] = header.stored_bytes;
  json["payload_checksum"] = std::to_string(header.payload_checksum);
  json["worth_ms"] = header.worth_ms;
  if (header.kind == ObjectKind::kSnapshot) {
    json["cold_end"] = header.cold_end;
    json["logits_bytes"] = header.logits_bytes;
    json["turns"] = header.turns;
  } else {
    json["answers"] = RangesJson(header.answers);
  }
  if (header.kind == ObjectKind::kSegment) {
    json["parent"] = header.parent.empty() ? Json() : Json(ToText(header.parent));
  }
  if (header.kind == ObjectKind::kFullState) {
    json["clean"] = header.clean;
    json["runs"] = Json::array();
    for (const Run& of : header.runs) {
      json["runs"].push_back({{"lineage", std::to_string(of.lineage)}, {"begin", of.begin}});
    }
  }
  json["path_whole"] = shown.path.whole;
  if (!shown.path.whole) json["path_gap"] = shown.path.gap;
  json["path"] = NamesJson(shown.path.segments);
  json["snapshots"] = NamesJson(shown.snapshots);
  PrintJson(json);
}

}  // namespace

Result<int> ListCache(const CacheRun& run) {
  const auto contents = ScanCache(run);
  if (!contents) return tl::unexpected(contents.error());
  const auto model = FindModelOf(run, *contents);
  if (!model) return tl::unexpected(model.error());
  const auto objects = Sorted(*contents, *model);
  if (run.options.json) {
    PrintListJson(run, *contents, objects);
  } else {
    PrintListText(run, *contents, objects);
  }
  return 0;
}

Result<int> ShowCache(const CacheRun& run) {
  const auto contents = ScanCache(run);
  if (!contents) return tl::unexpected(contents.error());
  const auto object = FindNamed(*contents, run.options.names.front());
  if (!object) return tl::unexpected(object.error());
  const ObjectFolder folder(run.fs, run.options.folder);
  auto path = folder.FindPath(*contents, **object);
  if (!path) return tl::unexpected(path.error());
  auto snapshots = folder.SnapshotsOn(*contents, **object, *path);
  if (!snapshots) return tl::unexpected(snapshots.error());
  const ShownObject shown = {*contents, **object, *std::move(path), *std::move(snapshots),
                             folder.PathOf(**object)};
  if (run.options.json) {
    PrintShownJson(run, shown);
  } else {
    PrintShownText(run, shown);
  }
  return 0;
}

}  // namespace cairn
