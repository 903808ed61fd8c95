#include "store/measured_grids.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "store/identity.h"
#include "store/put_file.h"

namespace cairn {
namespace {

constexpr std::string_view kBegin = "grid_tokens=";
// Far longer than any grid file; a longer one is not ours.
constexpr uint64_t kBytesMax = uint64_t{1} << 20;
// No engine takes larger grids.
constexpr size_t kGridTokensMax = 4096;

}  // namespace

MeasuredGrids::MeasuredGrids(Fs* fs, std::string folder)
    : fs_(fs), folder_(std::move(folder) + "/" + std::string(kGridsFolder)) {}

std::string MeasuredGrids::PathOf(std::string_view facts) const {
  return folder_ + "/" + ToText(FingerprintOf(facts)) + ".txt";
}

size_t MeasuredGrids::Find(std::string_view facts) const {
  const Result<Bytes> bytes = fs_->Read(PathOf(facts), 0, kBytesMax);
  if (!bytes) return 0;
  const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  const size_t line = text.find('\n');
  if (line == std::string_view::npos || !text.starts_with(kBegin)) return 0;
  if (text.substr(line + 1) != facts) return 0;
  size_t grid_tokens = 0;
  const char* const end = text.data() + line;
  const auto parsed = std::from_chars(text.data() + kBegin.size(), end, grid_tokens);
  const bool whole = parsed.ec == std::errc() && parsed.ptr == end;
  return whole && grid_tokens <= kGridTokensMax ? grid_tokens : 0;
}

Status MeasuredGrids::Keep(std::string_view facts, size_t grid_tokens) const {
  const std::string text =
      std::string(kBegin) + std::to_string(grid_tokens) + "\n" + std::string(facts);
  return PutFile(fs_, folder_, ToText(FingerprintOf(facts)) + ".txt", BytesOf(text));
}

}  // namespace cairn
