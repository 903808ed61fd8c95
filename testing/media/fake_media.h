// FakeMediaDecoder and FakeMediaEncoder: media whose file is text. The first line says how many
// rows it has and how many positions they take up: "12 4\nanything". A file that begins with "bad"
// cannot be decoded. The rows and the pixels hold a hash of the file. An image is as many pixels
// wide as it has rows, and as many high as it has positions; a recording has a tenth of a second
// for each row.
//
// Threads: as the interfaces say. `encoded` may be read at any time.

#ifndef CAIRN_TESTING_MEDIA_FAKE_MEDIA_H_
#define CAIRN_TESTING_MEDIA_FAKE_MEDIA_H_

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "media/media_encoder.h"
#include "media/medium.h"

namespace cairn {

// Returns an image of that many rows; `name` tells it from others.
std::shared_ptr<const Medium> FakeImage(size_t rows, size_t positions, const std::string& name);
std::shared_ptr<const Medium> FakeMedium(MediumKind kind, size_t rows, size_t positions,
                                         const std::string& name);

class FakeMediaDecoder final : public MediaDecoder {
 public:
  Result<DecodedMedium> Decode(const Medium& medium) override;
};

class FakeMediaEncoder final : public MediaEncoder {
 public:
  bool takes_images() const override { return true; }
  bool takes_audio() const override { return true; }
  uint32_t sample_rate() const override { return 16'000; }
  std::string Identity() const override { return "fake"; }
  // A token of text, the rows, a token of text.
  Result<MediumLayout> Layout(const DecodedMedium& medium) const override;
  Result<std::vector<EncodedPiece>> Encode(const DecodedMedium& medium) override;

  // Encode waits from Hold to Release.
  void Hold();
  void Release();
  // Lets that many media pass meanwhile.
  void LetPass(int count);
  // Called for each medium, by the thread that encodes it. Set it before the first.
  void OnEncode(std::function<void()> call) { on_encode_ = std::move(call); }
  int encoded() const { return static_cast<int>(encoded_rows().size()); }
  // The rows of each medium that was encoded, in that order.
  std::vector<size_t> encoded_rows() const;

 private:
  std::function<void()> on_encode_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  bool held_ = false;
  int passes_ = 0;
  std::vector<size_t> encoded_rows_;
};

}  // namespace cairn

#endif  // CAIRN_TESTING_MEDIA_FAKE_MEDIA_H_
