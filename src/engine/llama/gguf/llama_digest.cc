#include "engine/llama/gguf/llama_digest.h"

#include <gguf.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/text.h"
#include "engine/llama/gguf/gguf_files.h"

namespace cairn {
namespace {

constexpr uint64_t kBlockBytes = uint64_t{4} << 10;
constexpr uint64_t kStepBytes = uint64_t{16} << 20;
constexpr uint64_t kFrontStepBytes = uint64_t{1} << 20;

struct ByteRange {
  uint64_t begin = 0;
  uint64_t end = 0;
};

class Digest {
 public:
  void Add(const void* bytes, size_t size) {
    high_ = Hash64(bytes, size, high_);
    low_ = Hash64(bytes, size, low_);
  }
  std::string ToText() const { return HexText(high_) + HexText(low_); }

 private:
  uint64_t high_ = 1;
  uint64_t low_ = 2;
};

// The parts of a file that are hashed: its front, and blocks of each tensor.
std::vector<ByteRange> RangesOf(const gguf_context* gguf) {
  std::vector<ByteRange> ranges;
  const uint64_t data = gguf_get_data_offset(gguf);
  for (uint64_t at = 0; at < data; at += kFrontStepBytes) {
    ranges.push_back({at, std::min(at + kFrontStepBytes, data)});
  }
  for (int64_t i = 0; i < gguf_get_n_tensors(gguf); ++i) {
    const uint64_t begin = data + gguf_get_tensor_offset(gguf, i);
    const uint64_t end = begin + gguf_get_tensor_size(gguf, i);
    for (uint64_t at = begin; at < end; at += kStepBytes) {
      ranges.push_back({at, std::min(at + kBlockBytes, end)});
    }
    if (end - begin > kBlockBytes) ranges.push_back({end - kBlockBytes, end});
  }
  return ranges;
}

bool RotatesByContext(const gguf_context* gguf) {
  for (int64_t i = 0; i < gguf_get_n_tensors(gguf); ++i) {
    const std::string_view name = gguf_get_tensor_name(gguf, i);
    if (name.find("rope_factors_long") != std::string_view::npos) return true;
  }
  return false;
}

Status AddRanges(const std::string& path, const std::vector<ByteRange>& ranges, Digest* digest) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return Fail(ErrorCode::kNotFound, "there is no model file '" + path + "'");
  const auto size = static_cast<uint64_t>(file.tellg());
  digest->Add(&size, sizeof(size));
  std::vector<char> bytes;
  for (const ByteRange& range : ranges) {
    bytes.resize(range.end - range.begin);
    file.seekg(static_cast<std::streamoff>(range.begin));
    if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
      return Fail(ErrorCode::kCorrupt,
                  "the model file '" + path + "' ends before its table of tensors says");
    }
    digest->Add(bytes.data(), bytes.size());
  }
  return {};
}

}  // namespace

Result<ModelDigest> DigestModel(const std::string& path) {
  const auto files = OpenGgufFiles(path);
  if (!files) return tl::unexpected(files.error());
  ModelDigest model;
  Digest digest;
  for (const GgufFile& file : *files) {
    const gguf_context* gguf = file.gguf.get();
    model.rotates_by_context = model.rotates_by_context || RotatesByContext(gguf);
    Status added = AddRanges(file.path, RangesOf(gguf), &digest);
    if (!added) return tl::unexpected(added.error());
  }
  model.text = digest.ToText();
  return model;
}

}  // namespace cairn
