#include "media/child/child_media_decoder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cairn::kept_media_decoder_test {
namespace {

// Makes pixels of the file's first byte, as many as its second one says, and counts.
class CountingDecoder final : public MediaDecoder {
 public:
  explicit CountingDecoder(std::vector<uint8_t>* decoded) : decoded_(decoded) {}

  Result<DecodedMedium> Decode(const Medium& medium) override {
    decoded_->push_back(medium.file[0]);
    if (medium.file[1] == 0) return Fail(ErrorCode::kInvalidArgument, "broken");
    DecodedMedium image;
    image.width = medium.file[1];
    image.height = 1;
    image.rgb = Bytes(medium.file[1], medium.file[0]);
    return image;
  }

 private:
  std::vector<uint8_t>* const decoded_;
};

class KeptMediaDecoderTest : public ::testing::Test {
 protected:
  static MediumPtr Image(uint8_t pixel, uint8_t count) {
    return MakeMedium(MediumKind::kImage, {pixel, count}, "");
  }
  void Ask(uint8_t pixel, uint8_t count) {
    EXPECT_EQ(decoder_.DecodeFor(1, *Image(pixel, count)).has_value(), count > 0);
  }
  void Encode(uint8_t pixel, uint8_t count) {
    const auto image = decoder_.Decode(*Image(pixel, count));
    ASSERT_TRUE(image.has_value());
    EXPECT_EQ(image->rgb, Bytes(count, pixel));
    EXPECT_EQ(image->width, count);
  }

  std::vector<uint8_t> decoded_;  // the first bytes of the files, in the order of decoding
  KeptMediaDecoder decoder_{std::make_unique<CountingDecoder>(&decoded_), 100};
};

TEST_F(KeptMediaDecoderTest, DecodesOnceWhatIsLaidOutAndThenEncoded) {
  Ask(1, 60);
  Encode(1, 60);
  EXPECT_EQ(decoded_, (std::vector<uint8_t>{1}));
  EXPECT_EQ(decoder_.kept_bytes(), 0u);
}

TEST_F(KeptMediaDecoderTest, GivesACopyAwayOnce) {
  Ask(1, 60);
  Encode(1, 60);
  Encode(1, 60);
  EXPECT_EQ(decoded_, (std::vector<uint8_t>{1, 1}));
}

TEST_F(KeptMediaDecoderTest, KeepsTheNewestWithinItsBudget) {
  Ask(1, 60);
  Ask(2, 60);
  EXPECT_EQ(decoder_.kept_bytes(), 60u);
  Encode(2, 60);
  Encode(1, 60);
  EXPECT_EQ(decoded_, (std::vector<uint8_t>{1, 2, 1}));
}

TEST_F(KeptMediaDecoderTest, KeepsOneCopyOfAMediumThatIsAskedForAgain) {
  Ask(1, 60);
  Ask(1, 60);
  EXPECT_EQ(decoder_.kept_bytes(), 60u);
}

TEST_F(KeptMediaDecoderTest, KeepsNeitherWhatIsTooLargeNorWhatIsBroken) {
  Ask(1, 60);
  Ask(2, 101);
  Ask(3, 0);
  EXPECT_EQ(decoder_.kept_bytes(), 60u);
  Encode(1, 60);
}

}  // namespace
}  // namespace cairn::kept_media_decoder_test
