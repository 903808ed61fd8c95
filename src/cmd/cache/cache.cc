#include "cmd/cache/cache.h"

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "cmd/cache/cache_commands.h"
#include "cmd/lib/cache_folder.h"
#include "cmd/lib/progress_line.h"
#include "cmd/serve/remote/remote_flags.h"

namespace cairn {
namespace {

constexpr const char* kFooter =
    "`cairn serve --cache-dir DIR` keeps checkpoints in files, so that conversations resume after\n"
    "a restart. DIR has one folder per fingerprint: a model with all settings that change the\n"
    "bits of its states. Each folder has one file per object:\n\n"
    "  snapshot    the recurrent or sliding-window state at one position\n"
    "  segment     the attention KV of a range of positions\n"
    "  full state  the whole state of a slot, for models whose KV cannot be split\n"
    "  embedding   an image or a recording, as encoded by --mmproj\n\n"
    "Restoring a snapshot needs the segments before it, its path. Removing objects costs time,\n"
    "not conversations: the server prefills what is missing. Servers may run at the same time.\n\n"
    "Examples:\n"
    "  cairn cache ls                             list objects, most recently used first\n"
    "  cairn cache show 3fa8                      show one object, named by its first digits\n"
    "  cairn cache verify && echo all good        read every file; exit code 1 if one is bad\n"
    "  cairn cache prune --to 10                  keep the most valuable 10 GiB\n"
    "  cairn cache prune --older-than 30 --bad    remove what was unused for 30 days, and bad "
    "files\n"
    "  cairn cache verify --remote s3://b/p …     the same for the store that servers share\n"
    "  cairn cache export talk.cairns 3fa8        export a checkpoint and all it needs to one "
    "file\n"
    "  cairn cache import talk.cairns             import it into another machine's folder\n"
    "  cairn cache rm --model 91bc                remove all objects of one model\n"
    "  cairn cache wipe --namespace none          remove all that requests without an API key left";

constexpr std::array<std::pair<CacheCommand, const char*>, 9> kCommandNames = {{
    {CacheCommand::kList, "ls"},
    {CacheCommand::kShow, "show"},
    {CacheCommand::kVerify, "verify"},
    {CacheCommand::kPrune, "prune"},
    {CacheCommand::kReindex, "reindex"},
    {CacheCommand::kRemove, "rm"},
    {CacheCommand::kWipe, "wipe"},
    {CacheCommand::kExport, "export"},
    {CacheCommand::kImport, "import"},
}};

const char* CommandName(CacheCommand command) {
  for (const auto& [known, name] : kCommandNames) {
    if (known == command) return name;
  }
  return "";
}

CLI::App* AddCommand(CLI::App* cache, CacheCommand command, const std::string& about,
                     CacheCommandOptions* options) {
  CLI::App* const added = cache->add_subcommand(CommandName(command), about);
  added->callback([options, command] { options->command = command; });
  added->add_option("--cache-dir", options->folder, "Cache folder, as given to cairn serve")
      ->default_str("cairn in $XDG_CACHE_HOME or in ~/.cache");
  added->add_option("--cache-key-file", options->key_file,
                    "File with the key of sealed files, as given to cairn serve");
  added->add_flag("--json", options->json, "Print the result as one JSON object");
  return added;
}

void AddLooking(CLI::App* cache, CacheCommandOptions* options) {
  CLI::App* const list = AddCommand(cache, CacheCommand::kList,
                                    "List cached objects, most recently used first", options);
  list->add_option("--model", options->model,
                   "List only this model's objects: the first digits of its fingerprint");
  AddRemoteStoreFlags(list, &options->remote);
  CLI::App* const show = AddCommand(cache, CacheCommand::kShow,
                                    "Show one object, and whether its path is complete", options);
  show->add_option("name", options->names, "First digits of the object's name")
      ->required()
      ->expected(1);
  CLI::App* const verify =
      AddCommand(cache, CacheCommand::kVerify,
                 "Read every object and report bad ones; the exit code is 1 if there are any. A "
                 "segment whose parent is missing is stranded: unusable, but not bad",
                 options);
  AddRemoteStoreFlags(verify, &options->remote);
}

void AddChanging(CLI::App* cache, CacheCommandOptions* options) {
  CLI::App* const prune = AddCommand(cache, CacheCommand::kPrune,
                                     "Evict the least valuable, old or bad objects", options);
  prune
      ->add_option("--to", options->to_gib,
                   "Evict down to this many GiB: the objects of least value per byte first, as a "
                   "server does")
      ->check(CLI::NonNegativeNumber);
  prune
      ->add_option("--older-than", options->older_than_days,
                   "Remove objects unused for this many days, unless a newer object needs them")
      ->check(CLI::NonNegativeNumber);
  prune->add_flag("--bad", options->bad,
                  "Remove objects that verify reports as bad, and unfinished files older than an "
                  "hour. Files with other names, and files of a newer version, are kept");
  AddRemoteStoreFlags(prune, &options->remote);
  CLI::App* const reindex = AddCommand(
      cache, CacheCommand::kReindex,
      "List all objects of a remote store in its index, after the index was lost", options);
  AddRemoteStoreFlags(reindex, &options->remote);
  reindex
      ->add_option("--remote-ttl-h", options->remote.ttl_h,
                   "Hours after which the index forgets what nobody used")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 1e5));
  CLI::App* const remove = AddCommand(cache, CacheCommand::kRemove,
                                      "Remove objects by name, of one model, or all", options);
  remove->add_option("names", options->names, "First digits of the objects' names");
  remove->add_option("--model", options->model,
                     "Remove all objects of this model: the first digits of its fingerprint");
  remove->add_flag("--all", options->all, "Remove all objects");
  CLI::App* const wipe = AddCommand(
      cache, CacheCommand::kWipe,
      "Remove everything that the requests with one API key have left, of all models. A running "
      "server still has it in memory until it is evicted",
      options);
  wipe->add_option("--namespace", options->name_space,
                   "The key's namespace: the number that `cairn cache show` prints, or none for "
                   "requests without a key")
      ->required();
  wipe->add_option("--model", options->model,
                   "Only of this model: the first digits of its fingerprint");
  for (CLI::App* const command : {prune, remove, wipe}) {
    command->add_flag("--dry-run", options->dry_run,
                      "Print what would be removed, and remove nothing");
  }
}

void AddMoving(CLI::App* cache, CacheCommandOptions* options) {
  CLI::App* const exporting = AddCommand(
      cache, CacheCommand::kExport,
      "Export a checkpoint to one file: its snapshot, the segments of its path, and the "
      "snapshots along it. The file contains the conversation's tokens in readable form, unless "
      "--cache-key-file seals it",
      options);
  exporting->add_option("file", options->file, "File to write")->required();
  exporting->add_option("name", options->names, "First digits of the object's name")
      ->required()
      ->expected(1);
  CLI::App* const import =
      AddCommand(cache, CacheCommand::kImport,
                 "Import the objects of an exported file. A server uses them if it has the same "
                 "model, settings, libllama and kind of processor; existing objects are kept",
                 options);
  import->add_option("file", options->file, "File to read")->required();
}

Result<int> RunCommand(const CacheRun& run) {
  if (!run.options.remote.url.empty()) {
    auto stores = OpenRemoteStores(run.options.remote);
    if (!stores) return tl::unexpected(stores.error());
    return RunRemoteCache(run, *stores);
  }
  if (run.options.command == CacheCommand::kReindex) {
    return Fail(ErrorCode::kInvalidArgument,
                "the folder needs no index; --remote names the store whose index was lost");
  }
  if (run.options.folder.empty()) {
    return Fail(
        ErrorCode::kInvalidArgument,
        "neither XDG_CACHE_HOME nor HOME is an absolute path; name the folder with --cache-dir");
  }
  switch (run.options.command) {
    case CacheCommand::kList:
      return ListCache(run);
    case CacheCommand::kShow:
      return ShowCache(run);
    case CacheCommand::kVerify:
      return VerifyCache(run);
    case CacheCommand::kPrune:
      return PruneCache(run);
    case CacheCommand::kReindex:
      break;  // of a remote store
    case CacheCommand::kRemove:
      return RemoveFromCache(run);
    case CacheCommand::kWipe:
      return WipeCache(run);
    case CacheCommand::kExport:
      return ExportCache(run);
    case CacheCommand::kImport:
      return ImportCache(run);
  }
  return 1;
}

tl::unexpected<Error> NoFolder(const CacheRun& run) {
  return Fail(ErrorCode::kNotFound, "there is no folder \"" + run.options.folder +
                                        "\"; a server creates it when it first saves an object; "
                                        "--cache-dir names another folder");
}

// Returns the exit code.
int SayFailed(const CacheCommandOptions& options, const Error& error) {
  std::fprintf(stderr, "cairn cache %s: %s\n", CommandName(options.command), error.message.c_str());
  return 1;
}

bool IsDigits(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

CacheCommandOptions::CacheCommandOptions() : folder(DefaultCacheFolder()) {}

CLI::App* AddCache(CLI::App* app, CacheCommandOptions* options) {
  CLI::App* const cache =
      app->add_subcommand("cache", "Inspect and maintain the disk cache of prefilled prompts");
  cache->require_subcommand(1);
  cache->footer(kFooter);
  AddLooking(cache, options);
  AddChanging(cache, options);
  AddMoving(cache, options);
  return cache;
}

int RunCache(const CacheCommandOptions& options) {
  const auto fs = MakeCacheFs(options.key_file, {.read = true});
  if (!fs) return SayFailed(options, fs.error());
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return RunCacheOn(fs->get(), std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(),
                    options);
}

int RunCacheOn(Fs* fs, int64_t now_ns, const CacheCommandOptions& options) {
  const Result<int> code = RunCommand({options, fs, now_ns});
  if (code) return *code;
  return SayFailed(options, code.error());
}

Result<FolderContents> ScanCache(const CacheRun& run) {
  ProgressLine line("Scanning " + run.options.folder);
  auto contents =
      ObjectFolder(run.fs, run.options.folder).Scan([&](float share) { line.Update(share); });
  if (contents || contents.error().code != ErrorCode::kNotFound) return contents;
  return NoFolder(run);
}

Result<const FoundObject*> FindNamed(const FolderContents& contents, const std::string& name) {
  if (!IsDigits(name)) {
    return Fail(ErrorCode::kInvalidArgument,
                "'" + name +
                    "' is not an object's name; expected the first digits (0-9, a-f) of a name "
                    "that `cairn cache ls` lists");
  }
  const FoundObject* found = nullptr;
  for (const FoundObject& object : contents.objects) {
    if (!ToText(object.name).starts_with(name)) continue;
    if (found != nullptr) {
      return Fail(ErrorCode::kInvalidArgument,
                  "several objects' names begin with '" + name + "', " + ToText(found->name) +
                      " and " + ToText(object.name) + " among them; give more digits");
    }
    found = &object;
  }
  if (found != nullptr) return found;
  return Fail(ErrorCode::kNotFound, "no object's name begins with '" + name +
                                        "'; `cairn cache ls` lists the readable ones");
}

Result<std::string> FindModel(const FolderContents& contents, const std::string& model) {
  std::string found;
  for (const std::string& known : contents.models) {
    if (!known.starts_with(model)) continue;
    if (!found.empty()) {
      return Fail(ErrorCode::kInvalidArgument, "several models' fingerprints begin with '" + model +
                                                   "', " + found + " and " + known +
                                                   " among them; give more digits");
    }
    found = known;
  }
  if (!found.empty()) return found;
  return Fail(ErrorCode::kNotFound,
              "no model's fingerprint begins with '" + model + "'; `cairn cache ls` lists them");
}

Result<std::string> FindModelOf(const CacheRun& run, const FolderContents& contents) {
  if (run.options.model.empty()) return std::string();
  return FindModel(contents, run.options.model);
}

Result<std::unique_ptr<FileLock>> LockCache(const CacheRun& run) {
  constexpr double kStepMs = 50;
  const std::string path = run.options.folder + "/lock";
  // Otherwise the folder would contain nothing but its lock.
  if (!run.fs->List(run.options.folder)) return NoFolder(run);
  for (double waited_ms = 0;; waited_ms += kStepMs) {
    auto lock = run.fs->TryLock(path);
    if (lock || lock.error().code != ErrorCode::kUnavailable) return lock;
    if (waited_ms >= run.options.lock_wait_ms) {
      return Fail(ErrorCode::kUnavailable, lock.error().message +
                                               "; a server holds it for moments while it evicts: "
                                               "try again, and check that you may write there");
    }
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(kStepMs));
  }
}

Removed RemoveFiles(const CacheRun& run, const std::vector<Removal>& files) {
  Removed removed;
  for (const Removal& file : files) {
    if (!run.options.dry_run) {
      const Status gone = run.fs->Remove(file.path);
      if (!gone && gone.error().code != ErrorCode::kNotFound) {
        removed.failed.push_back(gone.error().message);
        continue;
      }
    }
    removed.files.push_back(file);
    removed.bytes += file.bytes;
  }
  return removed;
}

}  // namespace cairn
