#include "store/folder/identity.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/hash.h"
#include "store/disk/disk_files.h"

namespace cairn {
namespace {

// Far longer than any identity; a longer file is not ours.
constexpr uint64_t kIdentityBytesMax = uint64_t{1} << 20;

constexpr std::string_view kBegin = "grid_tokens=";
// After the number; a file of a version that did not measure it has neither.
constexpr std::string_view kHolds = ",at_messages=1";
constexpr std::string_view kHoldsNot = ",at_messages=0";
// Far longer than any grid file; a longer one is not ours.
constexpr uint64_t kGridsBytesMax = uint64_t{1} << 20;
// No engine takes larger grids.
constexpr size_t kGridTokensMax = 4096;

}  // namespace

Fingerprint FingerprintOf(std::string_view identity) {
  const Bits128 hash = Hash128(identity.data(), identity.size());
  return {hash.high, hash.low};
}

Status WriteIdentity(Fs* fs, const std::string& folder, std::string_view identity) {
  const std::string model = folder + "/" + ToText(FingerprintOf(identity));
  if (fs->Stat(model + "/" + std::string(kIdentityFile))) return {};
  return PutFile(fs, model, std::string(kIdentityFile), BytesOf(identity));
}

Result<std::string> ReadIdentity(const Fs& fs, const std::string& folder,
                                 const std::string& model) {
  const std::string path = folder + "/" + model + "/" + std::string(kIdentityFile);
  const Result<Bytes> bytes = fs.Read(path, 0, kIdentityBytesMax);
  if (!bytes) return tl::unexpected(bytes.error());
  std::string identity(bytes->begin(), bytes->end());
  if (ToText(FingerprintOf(identity)) == model) return identity;
  return Fail(ErrorCode::kCorrupt,
              "\"" + path + "\": it is not the text that the folder's name is the hash of");
}

MeasuredGrids::MeasuredGrids(Fs* fs, std::string folder)
    : fs_(fs), folder_(std::move(folder) + "/" + std::string(kGridsFolder)) {}

std::string MeasuredGrids::PathOf(std::string_view facts) const {
  return folder_ + "/" + ToText(FingerprintOf(facts)) + ".txt";
}

MeasuredGrid MeasuredGrids::Find(std::string_view facts) const {
  const Result<Bytes> bytes = fs_->Read(PathOf(facts), 0, kGridsBytesMax);
  if (!bytes) return {};
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  const size_t line = text.find('\n');
  if (line == std::string_view::npos || !text.starts_with(kBegin)) return {};
  if (text.substr(line + 1) != facts) return {};
  MeasuredGrid grid;
  const char* const end = text.data() + line;
  const auto parsed = std::from_chars(text.data() + kBegin.size(), end, grid.tokens);
  const std::string_view rest(parsed.ptr, static_cast<size_t>(end - parsed.ptr));
  grid.at_messages = rest == kHolds;
  const bool whole = parsed.ec == std::errc() && (grid.at_messages || rest == kHoldsNot);
  return whole && grid.tokens <= kGridTokensMax ? grid : MeasuredGrid{};
}

Status MeasuredGrids::Keep(std::string_view facts, const MeasuredGrid& grid) const {
  std::string text(kBegin);
  text += std::to_string(grid.tokens);
  text += grid.at_messages ? kHolds : kHoldsNot;
  text += "\n";
  text += facts;
  return PutFile(fs_, folder_, ToText(FingerprintOf(facts)) + ".txt", BytesOf(text));
}

}  // namespace cairn
