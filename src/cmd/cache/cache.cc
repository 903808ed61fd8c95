#include "cmd/cache/cache.h"

#include <CLI/CLI.hpp>
#include <array>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "cmd/cache/cache_commands.h"
#include "cmd/cache/cache_folder.h"
#include "cmd/progress_line.h"

namespace cairn {
namespace {

constexpr const char* kFooter =
    "`cairn serve --cache-dir DIR` keeps checkpoints in files, so that a conversation goes on "
    "where "
    "it\nwas after a restart. DIR has a folder for each model and setting that moves bits (its "
    "fingerprint),\nand in it a file for each object:\n\n"
    "  snapshot  the state at one position that cannot be rolled back\n"
    "  segment   the attention KV of a range of positions\n"
    "  whole     all of a conversation, where a model's KV cannot be taken apart\n\n"
    "Going back to a snapshot takes the segments before it: its path. Nothing is lost for good: "
    "what is\nnot there is read again. Servers may run meanwhile.\n\n"
    "Examples:\n"
    "  cairn cache ls                             what is there, the latest used first\n"
    "  cairn cache show 3fa8                      all about the object whose name begins so\n"
    "  cairn cache verify && echo all good        read everything; 1 when something is bad\n"
    "  cairn cache prune --to 10                  keep the 10 GiB that are worth most\n"
    "  cairn cache prune --older-than 30 --bad    drop what no one used for 30 days, and bad "
    "files\n"
    "  cairn cache export talk.cairns 3fa8        all that this checkpoint needs, in one file\n"
    "  cairn cache import talk.cairns             ... into another machine's folder\n"
    "  cairn cache rm --model 91bc                drop everything of one model";

constexpr std::array<std::pair<CacheCommand, const char*>, 7> kNames = {{
    {CacheCommand::kList, "ls"},
    {CacheCommand::kShow, "show"},
    {CacheCommand::kVerify, "verify"},
    {CacheCommand::kPrune, "prune"},
    {CacheCommand::kRemove, "rm"},
    {CacheCommand::kExport, "export"},
    {CacheCommand::kImport, "import"},
}};

const char* NameOf(CacheCommand command) {
  for (const auto& [known, name] : kNames) {
    if (known == command) return name;
  }
  return "";
}

CLI::App* AddCommand(CLI::App* cache, CacheCommand command, const std::string& about,
                     CacheCommandOptions* options) {
  CLI::App* const added = cache->add_subcommand(NameOf(command), about);
  added->callback([options, command] { options->command = command; });
  added->add_option("--cache-dir", options->folder, "The cache's folder, as given to cairn serve")
      ->default_str("cairn in $XDG_CACHE_HOME or in ~/.cache");
  added->add_flag("--json", options->json, "Print one JSON object");
  return added;
}

void AddLooking(CLI::App* cache, CacheCommandOptions* options) {
  CLI::App* const list =
      AddCommand(cache, CacheCommand::kList, "List what is kept, the latest used first", options);
  list->add_option("--model", options->model,
                   "Only of this model: the first digits of its fingerprint");
  CLI::App* const show =
      AddCommand(cache, CacheCommand::kShow,
                 "Say all about an object, and whether what it stands on is there", options);
  show->add_option("name", options->names, "The object: the first digits of its name")
      ->required()
      ->expected(1);
  AddCommand(cache, CacheCommand::kVerify,
             "Read everything, and name what is bad and why; the exit code is 1 when something is. "
             "A segment whose beginning is gone is stranded: of no use, but not bad",
             options);
}

void AddChanging(CLI::App* cache, CacheCommandOptions* options) {
  CLI::App* const prune = AddCommand(cache, CacheCommand::kPrune,
                                     "Give up what is worth least, is old, or is bad", options);
  prune
      ->add_option("--to", options->to_gib,
                   "Leave at most so many GiB: what goes first is worth least for its size, as a "
                   "server would choose")
      ->check(CLI::NonNegativeNumber);
  prune
      ->add_option("--older-than", options->older_than_days,
                   "Drop what was not used for so many days, unless something newer stands on it")
      ->check(CLI::NonNegativeNumber);
  prune->add_flag("--bad", options->bad,
                  "Drop objects that verify finds bad, and what was left half written over an hour "
                  "ago. Files that are called otherwise, and those of a newer version, stay");
  CLI::App* const remove =
      AddCommand(cache, CacheCommand::kRemove, "Drop objects by name, of a model, or all", options);
  remove->add_option("names", options->names, "The objects: the first digits of their names");
  remove->add_option("--model", options->model,
                     "Everything of this model: the first digits of its fingerprint");
  remove->add_flag("--all", options->all, "Everything");
  for (CLI::App* const command : {prune, remove}) {
    command->add_flag("--dry-run", options->dry_run, "Only say what would go");
  }
}

void AddMoving(CLI::App* cache, CacheCommandOptions* options) {
  CLI::App* const export_ = AddCommand(
      cache, CacheCommand::kExport,
      "Make one file of all that a checkpoint needs: its snapshot, the segments of its path, and "
      "the snapshots along it. It holds the conversation's tokens: whoever has it can read it",
      options);
  export_->add_option("file", options->file, "The file to write")->required();
  export_->add_option("name", options->names, "The object: the first digits of its name")
      ->required()
      ->expected(1);
  CLI::App* const import = AddCommand(
      cache, CacheCommand::kImport,
      "Put the objects of an exported file into the cache. A server uses them if it has the same "
      "model, settings, libllama and kind of processor; what is there already stays",
      options);
  import->add_option("file", options->file, "The file to read")->required();
}

Result<int> RunCommand(const CacheRun& run) {
  if (run.options.folder.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "neither XDG_CACHE_HOME nor HOME names a whole path; name the folder with "
                "--cache-dir");
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
    case CacheCommand::kRemove:
      return RemoveFromCache(run);
    case CacheCommand::kExport:
      return ExportCache(run);
    case CacheCommand::kImport:
      return ImportCache(run);
  }
  return 1;
}

tl::unexpected<Error> NoFolder(const CacheRun& run) {
  return Fail(ErrorCode::kNotFound,
              "there is no folder \"" + run.options.folder +
                  "\"; a server makes it when it first keeps something there, and --cache-dir "
                  "names another");
}

bool IsDigits(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

CacheCommandOptions::CacheCommandOptions() : folder(DefaultCacheFolder()) {}

CLI::App* AddCache(CLI::App* app, CacheCommandOptions* options) {
  CLI::App* const cache = app->add_subcommand(
      "cache", "Look at what the disk keeps of prompts that were read, and look after it");
  cache->require_subcommand(1);
  cache->footer(kFooter);
  AddLooking(cache, options);
  AddChanging(cache, options);
  AddMoving(cache, options);
  return cache;
}

int RunCache(const CacheCommandOptions& options) {
  const std::unique_ptr<Fs> fs = MakeRealFs();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return RunCacheOn(fs.get(), std::chrono::duration_cast<std::chrono::nanoseconds>(now).count(),
                    options);
}

int RunCacheOn(Fs* fs, int64_t now_ns, const CacheCommandOptions& options) {
  const Result<int> code = RunCommand({options, fs, now_ns});
  if (code) return *code;
  std::fprintf(stderr, "cairn cache %s: %s\n", NameOf(options.command),
               code.error().message.c_str());
  return 1;
}

Result<FolderContents> ScanCache(const CacheRun& run) {
  ProgressLine line("Looking through " + run.options.folder);
  auto contents =
      ObjectFolder(run.fs, run.options.folder).Scan([&](float share) { line.Update(share); });
  if (contents || contents.error().code != ErrorCode::kNotFound) return contents;
  return NoFolder(run);
}

Result<const FoundObject*> FindNamed(const FolderContents& contents, const std::string& name) {
  if (!IsDigits(name)) {
    return Fail(ErrorCode::kInvalidArgument,
                "'" + name +
                    "' is no object's name: it takes the first digits (0-9, a-f) of one "
                    "that `cairn cache ls` shows");
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
                                        "'; `cairn cache ls` shows those that can be read");
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
  return Fail(ErrorCode::kNotFound, "no model's fingerprint begins with '" + model +
                                        "'; `cairn cache ls` shows those that there are");
}

Result<std::unique_ptr<FileLock>> LockCache(const CacheRun& run) {
  constexpr double kStepMs = 50;
  const std::string path = run.options.folder + "/lock";
  // Or its lock would be all that is in it.
  if (!run.fs->List(run.options.folder)) return NoFolder(run);
  for (double waited_ms = 0;; waited_ms += kStepMs) {
    auto lock = run.fs->TryLock(path);
    if (lock || lock.error().code != ErrorCode::kUnavailable) return lock;
    if (waited_ms >= run.options.lock_wait_ms) {
      return Fail(ErrorCode::kUnavailable,
                  lock.error().message +
                      "; a server that gives objects up holds it for moments: "
                      "try again, and see whether you may write there");
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
