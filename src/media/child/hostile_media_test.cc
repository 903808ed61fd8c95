// Files made to break a decoder: changed, cut, and declaring what they do not hold.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "media/child/child_media_decoder.h"
#include "media/decode/decode_child.h"
#include "testing/media/child_watch.h"
#include "testing/media/media_files.h"

namespace cairn::hostile_media_test {
namespace {

using Random = std::mt19937;

struct Seed {
  MediumKind kind = MediumKind::kImage;
  Bytes file;
};

std::vector<Seed> Seeds() {
  std::vector<Seed> seeds = {
      {MediumKind::kImage, test::RedBluePng(40, 30)},
      {MediumKind::kImage, test::RedBlueGif(40, 30)},
      {MediumKind::kImage, test::RedBlueBmp(40, 30)},
      {MediumKind::kAudio, test::WavOf(44'100, 2, test::Tone(44'100, 2000))}};
  for (const char* name : {"red_blue.jpg", "red_blue_progressive.jpg", "red_blue_turned.jpg",
                           "red_blue.webp", "red_blue_lossless.webp", "animated.webp"}) {
    seeds.push_back({MediumKind::kImage, test::KeptMediaFile(name)});
  }
  for (const char* name : {"tone.flac", "tone.mp3"}) {
    seeds.push_back({MediumKind::kAudio, test::KeptMediaFile(name)});
  }
  return seeds;
}

size_t Below(size_t end, Random* random) {
  return std::uniform_int_distribution<size_t>(0, end - 1)(*random);
}

// Changes some bytes, most of them in the header, where the sizes are.
void ChangeBytes(Bytes* file, Random* random) {
  constexpr uint8_t kTelling[] = {0x00, 0x01, 0x7F, 0x80, 0xFF};
  for (size_t i = 1 + Below(8, random); i > 0; --i) {
    const size_t end = Below(2, random) == 0 ? file->size() : std::min<size_t>(file->size(), 64);
    uint8_t* const byte = &(*file)[Below(end, random)];
    *byte = Below(2, random) == 0 ? kTelling[Below(std::size(kTelling), random)]
                                  : static_cast<uint8_t>(Below(256, random));
  }
}

Bytes Changed(Bytes file, Random* random) {
  switch (Below(5, random)) {
    case 0:
      file.resize(Below(file.size(), random) + 1);
      break;
    case 1: {  // a part of the file once more in another place
      const size_t from = Below(file.size(), random);
      const Bytes part(file.begin() + static_cast<ptrdiff_t>(from), file.end());
      file.insert(file.begin() + static_cast<ptrdiff_t>(Below(file.size(), random)), part.begin(),
                  part.end());
      break;
    }
    case 2: {  // a number as large as it can be, or nearly zero
      const size_t at = Below(file.size(), random);
      const uint8_t byte = Below(2, random) == 0 ? 0xFF : 0x00;
      for (size_t i = at; i < std::min(at + 4, file.size()); ++i) file[i] = byte;
      break;
    }
    default:
      ChangeBytes(&file, random);
  }
  return file;
}

ChildMediaDecoderOptions Options() {
  ChildMediaDecoderOptions options;
  options.argv = {CAIRN_PROGRAM, std::string(kDecodeMediaCommand)};
  options.sample_rate = 16'000;
  options.decode_time_max = std::chrono::milliseconds(60'000);
  options.wait_time_max = std::chrono::milliseconds(120'000);
  return options;
}

void ExpectDecodedOrRefused(const Seed& seed, ChildMediaDecoder* decoder) {
  const auto decoded = decoder->Decode(*MakeMedium(seed.kind, seed.file, "messages[0]"));
  if (!decoded) {
    EXPECT_EQ(decoded.error().code, ErrorCode::kInvalidArgument) << decoded.error().message;
    EXPECT_TRUE(decoded.error().message.starts_with("the ")) << decoded.error().message;
  } else if (seed.kind == MediumKind::kImage) {
    EXPECT_EQ(decoded->rgb.size(), size_t{3} * decoded->width * decoded->height);
    EXPECT_FALSE(decoded->rgb.empty());
  } else {
    EXPECT_FALSE(decoded->samples.empty());
  }
}

TEST(HostileMedia, AreDecodedOrRefusedAndLeaveNothingBehind) {
  constexpr size_t kFilesOfASeed = 100;
  constexpr size_t kThreads = 2;
  const std::vector<Seed> seeds = Seeds();
  std::mutex mutex;
  std::string log;
  ChildMediaDecoderOptions options = Options();
  options.log = [&](LogLevel, std::string_view line) {
    const std::lock_guard<std::mutex> lock(mutex);
    log += std::string(line) + "\n";
  };
  ChildMediaDecoder decoder(options);
  ExpectDecodedOrRefused(seeds[0], &decoder);  // so that memory was touched before it is measured
  const test::ChildWatch watch;
  std::atomic<size_t> next = 0;
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (size_t i = next++; i < seeds.size() * kFilesOfASeed; i = next++) {
        SCOPED_TRACE(i);
        Random random(static_cast<unsigned>(i));
        Seed seed = seeds[i % seeds.size()];
        seed.file = Changed(std::move(seed.file), &random);
        ExpectDecodedOrRefused(seed, &decoder);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  watch.ExpectNothingLeft();
  // Not one of them made the child ask for a system call that it must not make.
  EXPECT_EQ(log.find("signal 31 "), std::string::npos) << log;
#ifndef CAIRN_SANITIZED
  EXPECT_LT(watch.GrownBytes(), int64_t{64} << 20U);
#endif
}

TEST(HostileMedia, OfFewBytesThatStandForManyTakeNoMoreMemoryThanTheirPixels) {
#ifdef CAIRN_SANITIZED
  GTEST_SKIP() << "sanitizers need more address space than a limit would leave";
#endif
  ChildMediaDecoder decoder(Options());
  // Beside the pixels there are 256 MiB of zeros.
  const Bytes bomb = test::PngOf(16, 8, test::ZlibOfZeros(size_t{256} << 20U));
  const auto image = decoder.Decode(*MakeMedium(MediumKind::kImage, bomb, "messages[0]"));
  ASSERT_FALSE(image.has_value());
  EXPECT_EQ(image.error().code, ErrorCode::kInvalidArgument);
}

TEST(HostileMedia, ThatDeclareTheLargestSizeAndHoldNothingAreRefused) {
  ChildMediaDecoder decoder(Options());
  Bytes gif = test::RedBlueGif(40, 30);
  Bytes bmp = test::RedBlueBmp(40, 30);
  gif[6] = bmp[18] = gif[8] = bmp[22] = 0x40;  // 8,000 = 0x1F40
  gif[7] = bmp[19] = gif[9] = bmp[23] = 0x1F;
  const Bytes png = test::PngOf(8000, 8000, test::StoredZlib(Bytes(100)));
  for (const Bytes& file : {png, gif, bmp})
    ExpectDecodedOrRefused({MediumKind::kImage, file}, &decoder);
  const auto refused = decoder.Decode(*MakeMedium(MediumKind::kImage, png, "messages[0]"));
  EXPECT_FALSE(refused.has_value());
}

TEST(HostileMedia, OfTheMostPixelsAreDecoded) {
  ChildMediaDecoder decoder(Options());
  const Bytes png = test::PngOf(8000, 8000, test::ZlibOfZeros(8000 * (8000 * 3 + 1) + 257));
  const auto image = decoder.Decode(*MakeMedium(MediumKind::kImage, png, "messages[0]"));
  ASSERT_TRUE(image.has_value()) << image.error().message;
  EXPECT_EQ(image->rgb.size(), size_t{8000} * 8000 * 3);
}

}  // namespace
}  // namespace cairn::hostile_media_test
