#include "testing/media/fake_media.h"

#include <sstream>

#include "base/hash.h"

namespace cairn {
namespace {

constexpr size_t kRowFloats = 8;
constexpr size_t kPixelBytes = 3;
constexpr size_t kSamplesPerRow = 1600;  // a tenth of a second
constexpr Token kBeforeRows = '[';
constexpr Token kBehindRows = ']';

}  // namespace

std::shared_ptr<const Medium> FakeImage(size_t rows, size_t positions, const std::string& name) {
  return FakeMedium(MediumKind::kImage, rows, positions, name);
}

std::shared_ptr<const Medium> FakeMedium(MediumKind kind, size_t rows, size_t positions,
                                         const std::string& name) {
  const std::string file = std::to_string(rows) + " " + std::to_string(positions) + "\n" + name;
  return MakeMedium(kind, Bytes(file.begin(), file.end()), "messages[0].content[0]");
}

Result<DecodedMedium> FakeMediaDecoder::Decode(const Medium& medium) {
  const std::string file(medium.file.begin(), medium.file.end());
  if (file.starts_with("bad")) return Fail(ErrorCode::kInvalidArgument, "the image is broken");
  DecodedMedium decoded;
  decoded.kind = medium.kind;
  std::istringstream(file) >> decoded.width >> decoded.height;
  const uint64_t hash = Hash64(medium.file.data(), medium.file.size());
  decoded.rgb.resize(size_t{decoded.width} * decoded.height * kPixelBytes);
  for (size_t i = 0; i < decoded.rgb.size(); ++i) {
    decoded.rgb[i] = static_cast<uint8_t>(HashMix(hash, i));
  }
  if (medium.kind == MediumKind::kAudio) decoded.samples.resize(decoded.width * kSamplesPerRow);
  return decoded;
}

Result<MediumLayout> FakeMediaEncoder::Layout(const DecodedMedium& medium) const {
  return MediumLayout{
      {{kBeforeRows}, 0, 0}, {{}, medium.width, medium.height}, {{kBehindRows}, 0, 0}};
}

void FakeMediaEncoder::Hold() {
  const std::lock_guard lock(mutex_);
  held_ = true;
  passes_ = 0;
}

void FakeMediaEncoder::Release() {
  {
    const std::lock_guard lock(mutex_);
    held_ = false;
  }
  changed_.notify_all();
}

void FakeMediaEncoder::LetPass(int count) {
  {
    const std::lock_guard lock(mutex_);
    passes_ += count;
  }
  changed_.notify_all();
}

std::vector<size_t> FakeMediaEncoder::encoded_rows() const {
  const std::lock_guard lock(mutex_);
  return encoded_rows_;
}

Result<std::vector<EncodedPiece>> FakeMediaEncoder::Encode(const DecodedMedium& medium) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !held_ || passes_ > 0; });
    if (held_) --passes_;
    encoded_rows_.push_back(medium.width);
  }
  if (on_encode_) on_encode_();
  EncodedPiece piece;
  piece.rows = medium.width;
  piece.positions = medium.height;
  const uint64_t hash = Hash64(medium.rgb.data(), medium.rgb.size());
  for (size_t i = 0; i < piece.rows * kRowFloats; ++i) {
    piece.embeddings.push_back(static_cast<float>(HashMix(hash, i) % 1000));
  }
  return std::vector<EncodedPiece>{std::move(piece)};
}

}  // namespace cairn
