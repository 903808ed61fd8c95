#include "soak/damage.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

namespace cairn::soak {
namespace {

namespace stdfs = std::filesystem;

constexpr const char* kForeign = "foreign-";

std::vector<stdfs::path> FilesIn(const std::string& folder) {
  std::vector<stdfs::path> files;
  std::error_code error;
  for (stdfs::recursive_directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->is_regular_file(error)) files.push_back(entry->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool IsUnfinished(const stdfs::path& path) {
  return path.filename().string().starts_with("tmp-");
}

std::string Flip(const stdfs::path& path, SeededText* dice) {
  const auto size = stdfs::file_size(path);
  const auto at = static_cast<std::streamoff>(dice->Number(size));
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  const int byte = file.get();
  file.seekp(at);
  file.put(static_cast<char>(byte ^ (1 << dice->Number(8))));
  return "flipped a bit";
}

std::string Lengthen(const stdfs::path& path, SeededText* dice) {
  std::ofstream(path, std::ios::app | std::ios::binary) << dice->Prose(1 + dice->Number(900));
  return "lengthened";
}

std::string AddForeign(const stdfs::path& beside, SeededText* dice) {
  const std::string name = kForeign + std::to_string(dice->Number(1'000'000)) +
                           (dice->Number(2) == 0 ? ".txt" : ".cairn");
  std::ofstream(beside.parent_path() / name, std::ios::binary) << dice->Prose(dice->Number(2000));
  return "added an unknown file";
}

std::string LeaveHalf(const stdfs::path& whole, SeededText* dice) {
  const stdfs::path half =
      whole.parent_path() / ("tmp-1-" + std::to_string(dice->Number(1'000'000)));
  stdfs::copy_file(whole, half, stdfs::copy_options::overwrite_existing);
  stdfs::resize_file(half, stdfs::file_size(half) / 2);
  return "left half written";
}

// Swaps two files: each is intact, but has the other's name.
std::string Swap(const stdfs::path& one, const stdfs::path& other) {
  const stdfs::path aside = one.string() + ".aside";
  stdfs::rename(one, aside);
  stdfs::rename(other, one);
  stdfs::rename(aside, other);
  return "swapped";
}

}  // namespace

std::string DamageFolder(const std::string& folder, SeededText* dice) {
  std::vector<stdfs::path> objects;
  for (const stdfs::path& path : FilesIn(folder)) {
    const bool whole = path.extension() == ".cairn" && stdfs::file_size(path) > 0 &&
                       !path.filename().string().starts_with(kForeign);
    if (whole) objects.push_back(path);
  }
  if (objects.empty()) return "";
  const stdfs::path& path = objects[dice->Number(objects.size())];
  switch (dice->Number(8)) {
    case 0:
      stdfs::resize_file(path, dice->Number(stdfs::file_size(path)));
      return "cut off";
    case 1:
      stdfs::resize_file(path, 0);
      return "emptied";
    case 2:
      stdfs::remove(path);
      return "taken away";
    case 3: {
      const stdfs::path& other = objects[dice->Number(objects.size())];
      return other == path ? Flip(path, dice) : Swap(path, other);
    }
    case 4:
      return Lengthen(path, dice);
    case 5:
      return AddForeign(path, dice);
    case 6:
      return LeaveHalf(path, dice);
    default:
      return Flip(path, dice);
  }
}

FolderFiles CountFiles(const std::string& folder) {
  FolderFiles count;
  for (const stdfs::path& path : FilesIn(folder)) {
    std::error_code error;
    if (path.filename().string().starts_with(kForeign)) {
      ++count.ours;
    } else if (IsUnfinished(path)) {
      ++count.unfinished;
    } else if (path.extension() == ".cairn") {
      const uint64_t bytes = stdfs::file_size(path, error);
      if (error) continue;
      ++count.objects;
      count.object_bytes += bytes;
    }
  }
  return count;
}

void AgeUnfinished(const std::string& folder) {
  const auto then = stdfs::file_time_type::clock::now() - std::chrono::hours(2);
  for (const stdfs::path& path : FilesIn(folder)) {
    std::error_code error;
    if (IsUnfinished(path)) stdfs::last_write_time(path, then, error);
  }
}

}  // namespace cairn::soak
