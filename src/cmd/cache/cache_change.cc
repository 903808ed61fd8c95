// cairn cache prune, rm and wipe.

#include <charconv>
#include <cstdio>
#include <set>

#include "base/clock.h"
#include "base/json.h"
#include "base/text.h"
#include "cmd/cache/cache_commands.h"
#include "store/disk/disk_files.h"
#include "store/disk/disk_store.h"
#include "store/folder/identity.h"

namespace cairn {
namespace {

constexpr double kNsPerDay = 24 * 3600 * kNsPerSecond;

Removal RemovalOf(const ObjectFolder& folder, const FoundObject& object) {
  return {folder.PathOf(object), ToText(object.name), object.file_bytes};
}

Removal RemovalOf(const FoundFile& file) {
  return {file.path, file.path.substr(file.path.find_last_of('/') + 1), file.bytes};
}

// Returns the totals after the removals.
struct Left {
  uint64_t objects = 0;
  uint64_t bytes = 0;
};

Left LeftBeside(const FolderContents& contents, const ObjectFolder& folder,
                const Removed& removed) {
  std::set<std::string> gone;
  for (const Removal& file : removed.files) gone.insert(file.path);
  Left left;
  for (const FoundObject& object : contents.objects) {
    if (gone.contains(folder.PathOf(object))) continue;
    ++left.objects;
    left.bytes += object.file_bytes;
  }
  return left;
}

// Removes the files and prints the result.
Result<int> RemoveAndSay(const CacheRun& run, const FolderContents& contents,
                         const std::vector<Removal>& files) {
  const ObjectFolder folder(run.fs, run.options.folder);
  const Removed removed = RemoveFiles(run, files);
  const Left left = LeftBeside(contents, folder, removed);
  if (run.options.json) {
    Json json = {{"cache_dir", run.options.folder}, {"dry_run", run.options.dry_run},
                 {"removed", Json::array()},        {"removed_bytes", removed.bytes},
                 {"failed", removed.failed},        {"left_objects", left.objects},
                 {"left_bytes", left.bytes}};
    for (const Removal& file : removed.files) json["removed"].push_back(file.name);
    PrintJson(json);
  } else {
    if (run.options.dry_run) {
      for (const Removal& file : removed.files) std::printf("%s\n", file.name.c_str());
    }
    for (const std::string& why : removed.failed) std::printf("not removed: %s\n", why.c_str());
    std::printf("%s%s, %s; %s left, %s\n", run.options.dry_run ? "would remove " : "removed ",
                CountText(removed.files.size(), "file").c_str(), BytesText(removed.bytes).c_str(),
                CountText(left.objects, "object").c_str(), BytesText(left.bytes).c_str());
  }
  return removed.failed.empty() ? 0 : 1;
}

Result<uint64_t> ParseNameSpace(const std::string& text) {
  if (text == "none") return 0;
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc() && stop == end) return number;
  return Fail(
      ErrorCode::kInvalidArgument,
      "--namespace '" + text + "' is neither a number, as `cairn cache show` prints it, nor none");
}

bool IsLeftBehind(const CacheRun& run, const FoundFile& file) {
  return static_cast<double>(run.now_ns) - static_cast<double>(file.time_ns) >
         static_cast<double>(kTempLifeNs);
}

// A dry run changes nothing, so it needs no lock.
Result<std::unique_ptr<FileLock>> LockToRemove(const CacheRun& run) {
  if (run.options.dry_run) return std::unique_ptr<FileLock>();
  return LockCache(run);
}

// Removes old objects from the index, except those that a newer object needs, and returns them.
Status AddOld(const CacheRun& run, FolderContents* contents, std::vector<Removal>* files) {
  const ObjectFolder folder(run.fs, run.options.folder);
  const double limit_ns = static_cast<double>(run.now_ns) - run.options.older_than_days * kNsPerDay;
  const auto old = [&](const FoundObject& object) {
    return static_cast<double>(object.time_ns) < limit_ns;
  };
  std::set<const FoundObject*> needed;
  for (const FoundObject& object : contents->objects) {
    if (old(object)) continue;
    const auto path = folder.FindPath(*contents, object);
    if (!path) {
      // The object was removed meanwhile, so nothing is needed for it.
      if (path.error().code == ErrorCode::kNotFound) continue;
      return tl::unexpected(path.error());
    }
    needed.insert(path->segments.begin(), path->segments.end());
  }
  for (const FoundObject& object : contents->objects) {
    if (!old(object) || needed.contains(&object)) continue;
    if (contents->index.Find(object.model, object.name) == nullptr) continue;
    files->push_back(RemovalOf(folder, object));
    contents->index.Erase(object.model, object.name);
  }
  return {};
}

void AddBad(const CacheRun& run, FolderContents* contents, std::vector<Removal>* files) {
  for (const FoundFile& file : Verify(run, contents).bad) {
    if (file.removable) files->push_back(RemovalOf(file));
  }
  for (const FoundFile& file : contents->unfinished) {
    if (IsLeftBehind(run, file)) files->push_back(RemovalOf(file));
  }
}

void AddWorthLeast(const CacheRun& run, FolderContents* contents, std::vector<Removal>* files) {
  const ObjectFolder folder(run.fs, run.options.folder);
  const double target = run.options.to_gib * kBytesPerGib;
  const uint64_t held = contents->index.bytes();
  if (static_cast<double>(held) <= target) return;
  const uint64_t surplus = held - static_cast<uint64_t>(target);
  const auto entries =
      contents->index.ToFree(surplus, nullptr, run.now_ns, DiskStoreOptions().half_life_s);
  if (!entries) return;
  for (const DiskEntry& entry : *entries) {
    const FoundObject* const object = contents->Find(entry.model, entry.name);
    if (object != nullptr) files->push_back(RemovalOf(folder, *object));
  }
}

// The folder's objects, its bad files, and its identity files.
void AddModel(const CacheRun& run, const FolderContents& contents, const std::string& model,
              std::vector<Removal>* files) {
  const ObjectFolder folder(run.fs, run.options.folder);
  const std::string path = run.options.folder + "/" + model + "/";
  for (const FoundObject& object : contents.objects) {
    if (object.model == model) files->push_back(RemovalOf(folder, object));
  }
  for (const FoundFile& file : contents.bad) {
    if (file.removable && file.path.starts_with(path)) files->push_back(RemovalOf(file));
  }
  for (const FoundFile& file : contents.unfinished) {
    if (file.path.starts_with(path) && IsLeftBehind(run, file)) files->push_back(RemovalOf(file));
  }
  if (contents.identities.contains(model)) {
    const std::string name(kIdentityFile);
    files->push_back({path + name, name, contents.identities.at(model).size()});
  }
}

Status AddNamed(const CacheRun& run, const FolderContents& contents, std::vector<Removal>* files) {
  const ObjectFolder folder(run.fs, run.options.folder);
  std::set<const FoundObject*> named;
  for (const std::string& name : run.options.names) {
    const auto object = FindNamed(contents, name);
    if (!object) return tl::unexpected(object.error());
    if (named.insert(*object).second) files->push_back(RemovalOf(folder, **object));
  }
  return {};
}

}  // namespace

Result<int> PruneCache(const CacheRun& run) {
  const CacheCommandOptions& options = run.options;
  if (options.to_gib < 0 && options.older_than_days < 0 && !options.bad) {
    return Fail(
        ErrorCode::kInvalidArgument,
        "nothing to prune was named; give --to GIB, --older-than DAYS, --bad, or several of them");
  }
  const auto lock = LockToRemove(run);
  if (!lock) return tl::unexpected(lock.error());
  auto contents = ScanCache(run);
  if (!contents) return tl::unexpected(contents.error());
  std::vector<Removal> files;
  if (options.bad) AddBad(run, &*contents, &files);
  if (options.older_than_days >= 0) {
    if (Status added = AddOld(run, &*contents, &files); !added) {
      return tl::unexpected(added.error());
    }
  }
  if (options.to_gib >= 0) AddWorthLeast(run, &*contents, &files);
  return RemoveAndSay(run, *contents, files);
}

Result<int> RemoveFromCache(const CacheRun& run) {
  const CacheCommandOptions& options = run.options;
  const int asked =
      (options.names.empty() ? 0 : 1) + (options.model.empty() ? 0 : 1) + (options.all ? 1 : 0);
  if (asked != 1) {
    return Fail(ErrorCode::kInvalidArgument,
                "nothing to remove was named; give names of objects, --model FINGERPRINT or --all");
  }
  const auto lock = LockToRemove(run);
  if (!lock) return tl::unexpected(lock.error());
  const auto contents = ScanCache(run);
  if (!contents) return tl::unexpected(contents.error());
  std::vector<Removal> files;
  std::vector<std::string> models;
  if (options.all) models = contents->models;
  if (!options.model.empty()) {
    auto model = FindModel(*contents, options.model);
    if (!model) return tl::unexpected(model.error());
    models.push_back(*std::move(model));
  }
  if (Status added = AddNamed(run, *contents, &files); !added) return tl::unexpected(added.error());
  for (const std::string& model : models) AddModel(run, *contents, model, &files);
  const auto code = RemoveAndSay(run, *contents, files);
  // Removes only empty folders; a folder that stays does no harm.
  if (!options.dry_run) {
    for (const std::string& model : models) {
      static_cast<void>(run.fs->Remove(options.folder + "/" + model));
    }
  }
  return code;
}

Result<int> WipeCache(const CacheRun& run) {
  const auto name_space = ParseNameSpace(run.options.name_space);
  if (!name_space) return tl::unexpected(name_space.error());
  const auto lock = LockToRemove(run);
  if (!lock) return tl::unexpected(lock.error());
  const auto contents = ScanCache(run);
  if (!contents) return tl::unexpected(contents.error());
  const auto model = FindModelOf(run, *contents);
  if (!model) return tl::unexpected(model.error());
  const ObjectFolder folder(run.fs, run.options.folder);
  std::vector<Removal> files;
  for (const FoundObject& object : contents->objects) {
    if (object.header.name_space != *name_space) continue;
    if (model->empty() || object.model == *model) files.push_back(RemovalOf(folder, object));
  }
  auto code = RemoveAndSay(run, *contents, files);
  if (contents->newer.empty()) return code;
  // They may hold what was to be removed, so the command has not done what it promises.
  std::fprintf(stderr,
               "cairn cache wipe: %s cannot be read and may hold more: sealed with a key that "
               "--cache-key-file does not name, or written by a newer cairn\n",
               CountText(contents->newer.size(), "file").c_str());
  return 1;
}

}  // namespace cairn
