// FakeMediaDecoder and FakeMediaEncoder: media whose file is text. The first line says how many
// rows it has and how many positions they take up: "12 4\nanything". A file that begins with "bad"
// cannot be decoded. The rows and the pixels hold a hash of the file. An image is as many pixels
// wide as it has rows, and as many high as it has positions; a recording has a tenth of a second
// for each row.
//
// Threads: as the interfaces say. `encoded` may be read at any time.

#ifndef CAIRN_TESTING_MEDIA_FAKE_MEDIA_H_
#define CAIRN_TESTING_MEDIA_FAKE_MEDIA_H_

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "media/decoded_medium.h"
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
  void Hold() { held_ = true; }
  void Release();
  int encoded() const { return encoded_; }

 private:
  std::atomic<int> encoded_ = 0;
  std::atomic<bool> held_ = false;
};

}  // namespace cairn

#endif  // CAIRN_TESTING_MEDIA_FAKE_MEDIA_H_
