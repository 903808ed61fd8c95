#include "download/model_download.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "download/part_file.h"

namespace cairn {
namespace {

// A token is one word; an end of line would end the header that it is sent in.
std::string FirstWord(std::string text) {
  const auto is_plain = [](char c) { return c > ' ' && c < '\x7F'; };
  const auto begin = std::find_if(text.begin(), text.end(), is_plain);
  const auto end = std::find_if_not(begin, text.end(), is_plain);
  return {begin, end};
}

std::string WordOfFile(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return FirstWord(std::move(line));
}

WebToken TokenOf(const DownloadSettings& settings) {
  const auto endpoint = ParseWebUrl(settings.endpoint);
  return endpoint ? WebToken{endpoint->origin, settings.token} : WebToken{};
}

// The facts that the head of a URL's file has.
struct UrlFacts {
  std::string etag;
  uint64_t bytes = 0;
  ContentSum sum;  // Hugging Face's redirects name the SHA-256
};

std::string Unquoted(std::string text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    return text.substr(1, text.size() - 2);
  return text;
}

UrlFacts FactsOf(const TransferHead& head, const std::vector<TransferHead>& redirects) {
  UrlFacts facts;
  facts.etag = head.Header("ETag");
  const std::string length = head.Header("Content-Length");
  facts.bytes = std::strtoull(length.c_str(), nullptr, 10);
  for (const TransferHead& one : redirects) {
    const ContentSum sum = ParseContentSum(Unquoted(one.Header("X-Linked-Etag")));
    if (sum.digits.size() == 64) facts.sum = sum;
  }
  return facts;
}

Error Offline(const std::string& what, const std::string& folder) {
  return {ErrorCode::kNotFound, what + " is not in " + folder +
                                    ", and --offline (or HF_HUB_OFFLINE) forbids to download it: "
                                    "start once without, or copy the file and serve it with -m"};
}

}  // namespace

DownloadSettings SettingsOf(const std::function<std::string(const std::string& name)>& variable) {
  DownloadSettings settings;
  for (const char* name : {"HF_ENDPOINT", "MODEL_ENDPOINT"}) {
    if (const std::string value = variable(name); !value.empty()) settings.endpoint = value;
  }
  if (!settings.endpoint.ends_with('/')) settings.endpoint += '/';

  const std::string home = variable("HOME");
  const std::string caches = !variable("XDG_CACHE_HOME").empty() ? variable("XDG_CACHE_HOME")
                             : !home.empty()                     ? home + "/.cache"
                                                                 : "";
  std::string hugging_face = variable("HF_HOME");
  if (hugging_face.empty() && !caches.empty()) hugging_face = caches + "/huggingface";
  if (!hugging_face.empty()) settings.hub_folder = hugging_face + "/hub";
  for (const char* name : {"HUGGINGFACE_HUB_CACHE", "HF_HUB_CACHE", "LLAMA_CACHE"}) {
    if (const std::string value = variable(name); !value.empty()) settings.hub_folder = value;
  }
  const std::string own = variable("LLAMA_CACHE");
  if (!own.empty() || !caches.empty()) {
    settings.url_folder = (own.empty() ? caches : own) + "/cairn-urls";
  }

  settings.token = FirstWord(variable("HF_TOKEN"));
  if (settings.token.empty()) {
    const std::string named = variable("HF_TOKEN_PATH");
    if (!named.empty()) {
      settings.token = WordOfFile(named);
    } else if (!hugging_face.empty()) {
      settings.token = WordOfFile(hugging_face + "/token");
    }
  }
  for (const char* name : {"HF_HUB_OFFLINE", "LLAMA_OFFLINE"}) {
    const std::string value = variable(name);
    for (const char* yes : {"1", "true", "TRUE", "on", "ON", "yes", "YES"}) {
      settings.offline = settings.offline || value == yes;
    }
  }
  return settings;
}

DownloadSettings SettingsOfEnvironment() {
  return SettingsOf([](const std::string& name) -> std::string {
    const char* const value = std::getenv(name.c_str());
    return value == nullptr ? "" : value;
  });
}

ModelDownload::ModelDownload(Transfer* transfer, DownloadSettings settings, DownloadHooks hooks,
                             DownloadRules rules)
    : settings_(std::move(settings)),
      hooks_(std::move(hooks)),
      rules_(rules),
      web_(transfer, TokenOf(settings_)),
      api_(&web_, settings_.endpoint),
      cache_(settings_.hub_folder),
      hub_files_(&web_, settings_.endpoint, hooks_, rules_),
      url_files_(&web_, "", hooks_, rules_) {}

Result<ModelDownload::Choice> ModelDownload::Choose(const std::string& commit,
                                                    const std::vector<HubFile>& files,
                                                    const HubName& name,
                                                    const HubModelWanted& wanted) const {
  auto model = ChooseModel(files, name, wanted.file);
  if (!model) return tl::unexpected(model.error());
  Choice choice;
  choice.commit = commit;
  choice.files = *std::move(model);
  choice.parts = choice.files.size();
  if (wanted.projector) {
    if (auto projector = ChooseProjector(files, choice.files.front().path)) {
      choice.files.push_back(*std::move(projector));
    }
  }
  return choice;
}

DownloadedModel ModelDownload::ModelOf(const std::string& repo, const Choice& choice) const {
  DownloadedModel model;
  model.path = cache_.SnapshotPath(repo, choice.commit, choice.files.front().path);
  if (choice.files.size() > choice.parts) {
    model.projector_path = cache_.SnapshotPath(repo, choice.commit, choice.files.back().path);
  }
  return model;
}

Result<DownloadedModel> ModelDownload::FromHub(const HubModelWanted& wanted) {
  const auto name = ParseHubName(wanted.name);
  if (!name) return Fail(name.error().code, "-hf " + name.error().message);
  if (settings_.hub_folder.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "there is no folder for downloads: set HOME, or LLAMA_CACHE to a folder");
  }
  if (settings_.offline) return FromCache(*name, wanted);
  const auto listing = api_.List(name->repo);
  if (!listing) {
    auto cached = FromCache(*name, wanted);
    if (!cached) return tl::unexpected(listing.error());
    if (hooks_.log) {
      hooks_.log(LogLevel::kWarning,
                 "serving the files of " + name->repo +
                     " that are here, because the hub cannot be asked: " + listing.error().message);
    }
    return cached;
  }
  const auto choice = Choose(listing->commit, listing->files, *name, wanted);
  if (!choice) return tl::unexpected(choice.error());
  if (Status all = DownloadAll(name->repo, *choice); !all) return tl::unexpected(all.error());
  return ModelOf(name->repo, *choice);
}

Status ModelDownload::DownloadAll(const std::string& repo, const Choice& choice) {
  uint64_t missing = 0;
  std::error_code error;
  for (const HubFile& file : choice.files) {
    if (!file.sum.known()) {
      return Fail(ErrorCode::kCorrupt, "the hub states no checksum of " + file.path + " in " +
                                           repo + ", so it could not be told from a damaged one");
    }
    const std::string path = cache_.BlobPath(repo, choice.commit, file);
    if (std::filesystem::exists(path, error)) continue;
    missing += file.bytes - std::min(file.bytes, BytesOfPart(path));
  }
  if (missing > 0) {
    if (Status room = CheckRoom(repo, missing, cache_.folder(), hooks_, rules_); !room) return room;
    if (hooks_.log) {
      hooks_.log(LogLevel::kInfo,
                 "downloading " + SizeText(missing) + " of " + repo + " to " + cache_.folder());
    }
  }
  for (const HubFile& file : choice.files) {
    FileWanted wanted;
    wanted.url = api_.UrlOf(repo, choice.commit, file.path);
    wanted.path = cache_.BlobPath(repo, choice.commit, file);
    wanted.lock_path = cache_.LockPath(repo, file);
    wanted.name = file.path;
    wanted.bytes = file.bytes;
    wanted.sum = file.sum;
    if (Status got = hub_files_.Get(wanted); !got) return got;
    if (Status linked = cache_.Link(repo, choice.commit, file); !linked) return linked;
  }
  return cache_.WriteRef(repo, choice.commit);
}

Result<DownloadedModel> ModelDownload::FromCache(const HubName& name,
                                                 const HubModelWanted& wanted) {
  for (const HubCache::Snapshot& snapshot : cache_.List(name.repo)) {
    const auto choice = Choose(snapshot.commit, snapshot.files, name, wanted);
    if (!choice) continue;
    bool whole = true;
    for (const HubFile& file : choice->files) {
      const auto there =
          hub_files_.IsThere(cache_.BlobPath(name.repo, choice->commit, file), file.sum, file.path);
      if (!there) return tl::unexpected(there.error());
      whole = whole && *there;
    }
    if (whole) return ModelOf(name.repo, *choice);
  }
  return tl::unexpected<Error>(Offline(wanted.name, cache_.folder()));
}

Status ModelDownload::DownloadUrl(const std::string& url, const std::string& path) {
  std::error_code error;
  const bool there = std::filesystem::exists(path, error);
  if (settings_.offline) {
    if (there) return {};
    return tl::unexpected<Error>(Offline(url, path));
  }
  FileWanted wanted;
  wanted.url = url;
  wanted.path = path;
  wanted.lock_path = path + ".lock";
  wanted.name = std::filesystem::path(path).filename().string();
  TransferHead head;
  TransferSink sink;
  sink.head = [&](const TransferHead& got) -> Status {
    head = got;
    return {};
  };
  Status asked = web_.Run({url, {{"Accept-Encoding", "identity"}}, true}, sink);
  if (!asked && !there && asked.error().code == ErrorCode::kInvalidArgument) return asked;
  const bool known = asked && head.status == 200;
  if (!known && there) {
    if (hooks_.log) {
      hooks_.log(LogLevel::kWarning,
                 "serving " + path +
                     ", because the server cannot be asked whether it has changed: " +
                     (asked ? RefusalOf(head, url, "").message : asked.error().message));
    }
    return {};
  }
  // A server may refuse HEAD and answer GET, which tells the reason if it does not.
  const UrlFacts facts = known ? FactsOf(head, web_.redirects()) : UrlFacts();
  wanted.bytes = facts.bytes;
  wanted.sum = facts.sum;
  wanted.etag = facts.etag;
  if (there && !facts.sum.known()) {
    if (facts.etag.empty() || facts.etag == NotedEtag(path)) return {};
    wanted.replaces = true;
  }
  return url_files_.Get(wanted);
}

Result<std::string> ModelDownload::FromUrl(const std::string& url, const std::string& path) {
  const auto parsed = ParseWebUrl(url);
  if (!parsed) return Fail(parsed.error().code, "--model-url " + parsed.error().message);
  const std::string file = FileNameOf(*parsed);
  auto name = ParseGgufName(file);
  if (!name || !IsSafePath(file)) {
    return Fail(ErrorCode::kInvalidArgument,
                "--model-url '" + url + "' does not end with the name of a .gguf file");
  }
  if (name->part != 1) {
    return Fail(ErrorCode::kInvalidArgument, "--model-url names part " +
                                                 std::to_string(name->part) +
                                                 " of a split model; name "
                                                 "the first part, " +
                                                 PartName(*name, 1));
  }
  if (path.empty() && settings_.url_folder.empty()) {
    return Fail(ErrorCode::kInvalidArgument,
                "there is no folder for downloads: set HOME, or name the file with -m");
  }
  const size_t file_at = url.substr(0, url.find_first_of("?#")).rfind(file);
  const std::string folder = settings_.url_folder + "/" + HexText(Hash64(url));
  std::string first;
  for (int part = 1; part <= name->parts; ++part) {
    const std::string part_name = PartName(*name, part);
    std::string target = folder + "/" + part_name;
    if (!path.empty()) {
      const std::string complete = std::filesystem::absolute(path).string();
      const auto own = ParseGgufName(complete);
      const bool splits = name->parts == 1 || (own && own->parts == name->parts);
      if (!splits) {
        return Fail(ErrorCode::kInvalidArgument,
                    "-m " + path + " has to end with the name of the first part, " + part_name);
      }
      target = name->parts == 1 ? complete : PartName(*own, part);
    }
    std::string part_url = url;
    part_url.replace(file_at, file.size(), part_name);
    if (Status got = DownloadUrl(part_url, target); !got) return tl::unexpected(got.error());
    if (part == 1) first = target;
  }
  return first;
}

}  // namespace cairn
