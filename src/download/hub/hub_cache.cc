#include "download/hub/hub_cache.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

namespace cairn {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRepoPrefix = "models--";

tl::unexpected<Error> RefusedPath(const fs::path& path, const std::error_code& error) {
  const bool full = error == std::errc::no_space_on_device;
  return Fail(full ? ErrorCode::kNoSpace : ErrorCode::kUnavailable,
              "\"" + path.string() + "\": " + error.message());
}

// A name beside `path` that no other process takes.
fs::path Beside(const fs::path& path) {
  return path.string() + "." + std::to_string(getpid()) + ".cairn-new";
}

std::string FolderName(const std::string& repo) {
  std::string name = std::string(kRepoPrefix) + repo;
  const size_t slash = name.find('/');
  if (slash != std::string::npos) name.replace(slash, 1, "--");
  return name;
}

HubCache::Snapshot ListSnapshot(const fs::path& folder) {
  HubCache::Snapshot snapshot;
  snapshot.commit = folder.filename().string();
  std::error_code error;
  for (auto at = fs::recursive_directory_iterator(folder, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code gone;
    if (!fs::is_regular_file(at->path(), gone)) continue;  // follows links
    HubFile file;
    file.path = at->path().lexically_relative(folder).generic_string();
    file.bytes = fs::file_size(at->path(), gone);
    const fs::path target = fs::read_symlink(at->path(), gone);
    if (!gone) file.sum = ParseContentSum(target.filename().string());
    snapshot.files.push_back(std::move(file));
  }
  std::sort(snapshot.files.begin(), snapshot.files.end(),
            [](const HubFile& a, const HubFile& b) { return a.path < b.path; });
  return snapshot;
}

}  // namespace

std::string HubCache::RepoFolder(const std::string& repo) const {
  return folder_ + "/" + FolderName(repo);
}

std::string HubCache::SnapshotPath(const std::string& repo, const std::string& commit,
                                   const std::string& path) const {
  return RepoFolder(repo) + "/snapshots/" + commit + "/" + path;
}

std::string HubCache::BlobPath(const std::string& repo, const std::string& commit,
                               const HubFile& file) const {
  if (!file.sum.known()) return SnapshotPath(repo, commit, file.path);
  return RepoFolder(repo) + "/blobs/" + file.sum.digits;
}

std::string HubCache::LockPath(const std::string& repo, const HubFile& file) const {
  std::string name = file.sum.known() ? file.sum.digits : file.path;
  std::replace(name.begin(), name.end(), '/', '_');
  return folder_ + "/.locks/" + FolderName(repo) + "/" + name + ".lock";
}

Status HubCache::Link(const std::string& repo, const std::string& commit,
                      const HubFile& file) const {
  const fs::path blob = BlobPath(repo, commit, file);
  const fs::path name = SnapshotPath(repo, commit, file.path);
  std::error_code error;
  if (blob == name || fs::equivalent(blob, name, error)) return {};
  fs::create_directories(name.parent_path(), error);
  if (error) return RefusedPath(name.parent_path(), error);
  const fs::path made = Beside(name);
  fs::create_symlink(blob.lexically_relative(name.parent_path()), made, error);
  if (error) {
    // A file system without symbolic links.
    error.clear();
    fs::create_hard_link(blob, made, error);
  }
  if (error) return RefusedPath(made, error);
  fs::rename(made, name, error);
  if (error) return RefusedPath(name, error);
  return {};
}

Status HubCache::WriteRef(const std::string& repo, const std::string& commit) const {
  const fs::path ref = RepoFolder(repo) + "/refs/main";
  std::error_code error;
  fs::create_directories(ref.parent_path(), error);
  if (error) return RefusedPath(ref.parent_path(), error);
  const fs::path made = Beside(ref);
  std::ofstream file(made);
  file << commit;
  file.close();
  if (!file) return Fail(ErrorCode::kUnavailable, "\"" + made.string() + "\" cannot be written");
  fs::rename(made, ref, error);
  if (error) return RefusedPath(ref, error);
  return {};
}

std::vector<std::string> HubCache::Repos() const {
  std::vector<std::string> repos;
  std::error_code error;
  for (auto at = fs::directory_iterator(folder_, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    std::string name = at->path().filename().string();
    if (!name.starts_with(kRepoPrefix)) continue;
    name.erase(0, kRepoPrefix.size());
    const size_t dashes = name.find("--");
    if (dashes == std::string::npos) continue;
    repos.push_back(name.replace(dashes, 2, "/"));
  }
  std::sort(repos.begin(), repos.end());
  return repos;
}

std::vector<HubCache::Snapshot> HubCache::List(const std::string& repo) const {
  const fs::path folder = RepoFolder(repo) + "/snapshots";
  std::string newest;
  std::getline(std::ifstream(RepoFolder(repo) + "/refs/main") >> std::ws, newest);
  struct Found {
    bool is_newest;
    fs::file_time_type time;
    fs::path path;
  };
  std::vector<Found> found;
  std::error_code error;
  for (auto at = fs::directory_iterator(folder, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    std::error_code gone;
    if (!at->is_directory(gone)) continue;
    found.push_back(
        {at->path().filename() == newest, fs::last_write_time(at->path(), gone), at->path()});
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::tie(a.is_newest, a.time) > std::tie(b.is_newest, b.time);
  });
  std::vector<Snapshot> snapshots;
  snapshots.reserve(found.size());
  for (const Found& one : found) snapshots.push_back(ListSnapshot(one.path));
  return snapshots;
}

}  // namespace cairn
