#include "media/child/child_media_decoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "media/child/spawned_program.h"
#include "media/decode/decode_child.h"
#include "media/decode_messages.h"
#include "testing/media/child_watch.h"
#include "testing/media/media_files.h"

namespace cairn::child_media_decoder_test {
namespace {

using std::chrono::milliseconds;
using test::KeptMediaFile;

using Argv = std::vector<std::string>;

ChildMediaDecoderOptions Options() {
  ChildMediaDecoderOptions options;
  options.argv = {CAIRN_PROGRAM, std::string(kDecodeMediaCommand)};
  options.sample_rate = 16'000;
  options.decode_time_max = milliseconds(60'000);  // sanitizers and a busy machine are slow
  return options;
}

std::shared_ptr<const Medium> Image(Bytes file) {
  return MakeMedium(MediumKind::kImage, std::move(file), "messages[0].content[1]");
}
std::shared_ptr<const Medium> Audio(Bytes file) {
  return MakeMedium(MediumKind::kAudio, std::move(file), "messages[0].content[1]");
}

// Returns the pixels, for `file` has to be decodable.
DecodedMedium Decoded(const Bytes& file) {
  const auto image = ChildMediaDecoder(Options()).Decode(*Image(file));
  EXPECT_TRUE(image.has_value()) << (image ? "" : image.error().message);
  return image.value_or(DecodedMedium{});
}

void ExpectRedBlue(const DecodedMedium& image, uint32_t width, uint32_t height) {
  EXPECT_EQ(image.kind, MediumKind::kImage);
  EXPECT_EQ(image.width, width);
  EXPECT_EQ(image.height, height);
  EXPECT_EQ(image.rgb, test::RedBlue(width, height));
}

// Lossy files have about these colours, but for where the two meet.
void ExpectAboutRedBlue(const DecodedMedium& image, uint32_t width, uint32_t height) {
  ASSERT_EQ(image.width, width);
  ASSERT_EQ(image.height, height);
  const Bytes wanted = test::RedBlue(width, height);
  ASSERT_EQ(image.rgb.size(), wanted.size());
  int largest = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto x = static_cast<int>(i / 3 % width);
    if (std::abs(2 * x + 1 - static_cast<int>(width)) <= 3) continue;
    largest = std::max(largest, std::abs(int{image.rgb[i]} - int{wanted[i]}));
  }
  EXPECT_LE(largest, 40);
}

// Each test's own folder, for children that leave or read files.
class ChildMediaDecoderTest : public ::testing::Test {
 protected:
  ChildMediaDecoderTest()
      : folder_(std::filesystem::temp_directory_path() /
                ("cairn_child_" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
  }
  ~ChildMediaDecoderTest() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return folder_ / name; }
  std::string Text(const std::string& name) const {
    std::ifstream in(Path(name));
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  // Decodes a 16 x 8 image with another program for a child.
  Error ErrorWith(Argv argv, milliseconds decode_time_max = milliseconds(60'000)) {
    ChildMediaDecoderOptions options = Options();
    options.argv = std::move(argv);
    options.decode_time_max = decode_time_max;
    options.log = [this](LogLevel, std::string_view line) { log_ += std::string(line) + "\n"; };
    const test::ChildWatch watch;
    const auto image = ChildMediaDecoder(options).Decode(*Image(test::RedBluePng(16, 8)));
    watch.ExpectNothingLeft();
    EXPECT_FALSE(image.has_value());
    return image ? Error{} : image.error();
  }
  // Decodes with a child that says this, whatever it is sent.
  Result<DecodedMedium> Answered(const DecodeReply& reply, const std::string& payload,
                                 const Medium& medium) {
    std::ofstream(Path("reply"), std::ios::binary)
        << std::string(reinterpret_cast<const char*>(&reply), sizeof(reply)) << payload;
    ChildMediaDecoderOptions options = Options();
    options.argv = {"/bin/cat", Path("reply")};
    options.log = [this](LogLevel, std::string_view line) { log_ += std::string(line) + "\n"; };
    return ChildMediaDecoder(options).Decode(medium);
  }

  const std::filesystem::path folder_;
  std::string log_;
};

TEST_F(ChildMediaDecoderTest, DecodesEachFormatOfImages) {
  ExpectRedBlue(Decoded(test::RedBluePng(30, 20)), 30, 20);
  ExpectRedBlue(Decoded(test::RedBlueBmp(30, 20)), 30, 20);
  ExpectRedBlue(Decoded(test::RedBlueGif(30, 20)), 30, 20);
  ExpectRedBlue(Decoded(KeptMediaFile("red_blue_lossless.webp")), 16, 8);
  ExpectAboutRedBlue(Decoded(KeptMediaFile("red_blue.webp")), 16, 8);
  ExpectAboutRedBlue(Decoded(KeptMediaFile("red_blue.jpg")), 16, 8);
  ExpectAboutRedBlue(Decoded(KeptMediaFile("red_blue_progressive.jpg")), 16, 8);
}

TEST_F(ChildMediaDecoderTest, TurnsAnImageUprightAsItsCameraSays) {
  const DecodedMedium image = Decoded(KeptMediaFile("red_blue_turned.jpg"));
  ASSERT_EQ(image.width, 8U);
  ASSERT_EQ(image.height, 16U);
  EXPECT_GT(image.rgb[0], 200);                                 // above: red
  EXPECT_GT(image.rgb[image.rgb.size() - 1], 200);              // below: blue
  EXPECT_LT(image.rgb[3 * (size_t{image.width} - 1) + 2], 60);  // above on the right: not blue
}

TEST_F(ChildMediaDecoderTest, DecodesALargeImage) {
  ExpectRedBlue(Decoded(test::RedBluePng(1200, 800)), 1200, 800);
}

TEST_F(ChildMediaDecoderTest, DecodesEachFormatOfRecordings) {
  ChildMediaDecoder decoder(Options());
  const auto wav = decoder.Decode(*Audio(test::WavOf(16'000, 1, test::Tone(16'000, 1600))));
  ASSERT_TRUE(wav.has_value());
  EXPECT_EQ(wav->kind, MediumKind::kAudio);
  const std::vector<int16_t> tone = test::Tone(16'000, 1600);
  ASSERT_EQ(wav->samples.size(), tone.size());
  for (size_t i = 0; i < tone.size(); ++i) EXPECT_NEAR(wav->samples[i], tone[i] / 32768.0, 1e-4);

  const auto flac = decoder.Decode(*Audio(KeptMediaFile("tone.flac")));
  ASSERT_TRUE(flac.has_value());
  ASSERT_EQ(flac->samples.size(), 800U);
  for (size_t i = 0; i < 800; ++i) EXPECT_NEAR(flac->samples[i], tone[i] / 32768.0, 1e-3);

  const auto mp3 = decoder.Decode(*Audio(KeptMediaFile("tone.mp3")));
  ASSERT_TRUE(mp3.has_value());
  EXPECT_GE(mp3->samples.size(), 1600U);  // encoders add some silence
  EXPECT_NEAR(*std::max_element(mp3->samples.begin(), mp3->samples.end()), 0.5, 0.1);
}

TEST_F(ChildMediaDecoderTest, MixesAndResamplesRecordings) {
  std::vector<int16_t> stereo;
  for (const int16_t sample : test::Tone(48'000, 4800)) {
    stereo.push_back(sample);
    stereo.push_back(0);
  }
  const auto audio = ChildMediaDecoder(Options()).Decode(*Audio(test::WavOf(48'000, 2, stereo)));
  ASSERT_TRUE(audio.has_value());
  EXPECT_NEAR(static_cast<double>(audio->samples.size()), 1600, 16);
  EXPECT_NEAR(*std::max_element(audio->samples.begin(), audio->samples.end()), 0.25, 0.03);
}

TEST_F(ChildMediaDecoderTest, DecodesOneFileAfterTheOtherWithAChildThatWaits) {
  const test::ChildWatch watch;
  {
    ChildMediaDecoderOptions options = Options();
    options.keeps_one_ready = true;
    ChildMediaDecoder decoder(options);
    for (int i = 0; i < 3; ++i) {
      const auto image = decoder.Decode(*Image(test::RedBluePng(30, 20)));
      ASSERT_TRUE(image.has_value());
      ExpectRedBlue(*image, 30, 20);
    }
  }
  watch.ExpectNothingLeft();
}

void WaitForOne(const ReadyProgram& program) {
  while (!program.has_one()) std::this_thread::sleep_for(milliseconds(1));
}

TEST_F(ChildMediaDecoderTest, GivesTheChildThatWaitsAndStartsAnother) {
  const test::ChildWatch watch;
  {
    ReadyProgram ready({"/bin/cat"}, milliseconds(1));
    WaitForOne(ready);
    const auto first = ready.Take();
    ASSERT_TRUE(first.has_value());
    EXPECT_TRUE((*first)->IsRunning());
    WaitForOne(ready);
  }
  watch.ExpectNothingLeft();
}

TEST_F(ChildMediaDecoderTest, StartsAnotherChildWhereTheOneThatWaitedHasEnded) {
  const std::string once = Path("once");
  std::ofstream(Path("script")) << "test -e " + once + " && exec cat; touch " + once;
  ReadyProgram ready({"/bin/sh", Path("script")}, milliseconds(1));
  WaitForOne(ready);
  while (!std::filesystem::exists(once)) std::this_thread::sleep_for(milliseconds(1));
  // The shell ends a moment after it has made the file.
  std::this_thread::sleep_for(milliseconds(200));
  const auto taken = ready.Take();
  ASSERT_TRUE(taken.has_value());
  EXPECT_TRUE((*taken)->IsRunning());
}

TEST_F(ChildMediaDecoderTest, SaysWhyNoChildCanBeStartedWhereNoneWaits) {
  ReadyProgram ready({"/nonexistent/program"}, milliseconds(1));
  const auto taken = ready.Take();
  ASSERT_FALSE(taken.has_value());
  EXPECT_EQ(taken.error().code, ErrorCode::kUnavailable);
}

TEST_F(ChildMediaDecoderTest, RefusesWhatIsOverTheLimitsBeforeAChildIsStarted) {
  ChildMediaDecoderOptions options = Options();
  options.argv = {"/nonexistent/program"};
  options.limits.file_bytes_max = 10'000;
  ChildMediaDecoder decoder(options);
  const auto large_file = decoder.Decode(*Audio(Bytes(10'001)));
  ASSERT_FALSE(large_file.has_value());
  EXPECT_EQ(large_file.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(large_file.error().message, "the audio has 10001 bytes; the limit is 10000");
  const auto large_image = decoder.Decode(*Image(test::PngOf(20'000, 20, {})));
  ASSERT_FALSE(large_image.has_value());
  EXPECT_EQ(large_image.error().code, ErrorCode::kInvalidArgument);
  const auto text = decoder.Decode(*Image(Bytes(100, 'x')));
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().message, "the image is not a PNG, JPEG, GIF, BMP or WEBP file");
}

TEST_F(ChildMediaDecoderTest, SaysWhatIsWrongWithAFile) {
  ChildMediaDecoder decoder(Options());
  Bytes cut = test::RedBluePng(30, 20);
  cut.resize(cut.size() / 2);
  const auto image = decoder.Decode(*Image(cut));
  ASSERT_FALSE(image.has_value());
  EXPECT_EQ(image.error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(image.error().message.starts_with("the image cannot be decoded: "));
  const auto animated = decoder.Decode(*Image(KeptMediaFile("animated.webp")));
  ASSERT_FALSE(animated.has_value());
  EXPECT_EQ(animated.error().message, "the image is an animated WEBP file, which is not supported");
  const auto audio = decoder.Decode(*Audio(test::RedBluePng(3, 3)));
  ASSERT_FALSE(audio.has_value());
  EXPECT_EQ(audio.error().message, "the audio is not a WAV, MP3 or FLAC file");
}

TEST_F(ChildMediaDecoderTest, RefusesRecordingsThatAreTooLong) {
  ChildMediaDecoderOptions options = Options();
  options.limits.audio_seconds_max = 2;
  ChildMediaDecoder decoder(options);
  EXPECT_TRUE(decoder.Decode(*Audio(test::WavOf(8000, 1, std::vector<int16_t>(16'000)))));
  const auto longer = decoder.Decode(*Audio(test::WavOf(8000, 1, std::vector<int16_t>(17'000))));
  ASSERT_FALSE(longer.has_value());
  EXPECT_EQ(longer.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(longer.error().message, "the audio is longer than 2 seconds");
}

TEST_F(ChildMediaDecoderTest, RefusesRecordingsWhereTheModelTakesNone) {
  ChildMediaDecoderOptions options = Options();
  options.sample_rate = 0;
  const auto audio = ChildMediaDecoder(options).Decode(*Audio(KeptMediaFile("tone.flac")));
  ASSERT_FALSE(audio.has_value());
  EXPECT_EQ(audio.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(ChildMediaDecoderTest, AChildThatCrashesIsAnErrorOfTheFile) {
  const Error error = ErrorWith({"/bin/sh", "-c", "kill -SEGV $$"});
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error.message, "the image cannot be decoded");
  EXPECT_NE(log_.find("messages[0].content[1]"), std::string::npos);
  EXPECT_NE(log_.find("signal 11 ended it"), std::string::npos);
}

TEST_F(ChildMediaDecoderTest, AChildThatEndsAtOnceIsAnErrorEvenWhileItIsSentAFile) {
  ChildMediaDecoderOptions options = Options();
  options.argv = {"/bin/false"};
  Bytes large = test::RedBluePng(30, 20);
  large.resize(size_t{4} << 20U);
  const auto medium = Image(std::move(large));
  for (int i = 0; i < 20; ++i) {
    const test::ChildWatch watch;
    const auto image = ChildMediaDecoder(options).Decode(*medium);
    watch.ExpectNothingLeft();
    ASSERT_FALSE(image.has_value());
    EXPECT_EQ(image.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST_F(ChildMediaDecoderTest, AChildThatHangsIsKilled) {
  const Error error = ErrorWith({"/bin/sleep", "1000"}, milliseconds(200));
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error.message, "the image cannot be decoded within 200 ms");
  EXPECT_NE(log_.find("signal 9 ended it"), std::string::npos);
}

TEST_F(ChildMediaDecoderTest, AChildWhoseClientHasLeftIsKilled) {
  ChildMediaDecoderOptions options = Options();
  options.argv = {"/bin/sleep", "1000"};
  options.log = [this](LogLevel, std::string_view line) { log_ += std::string(line) + "\n"; };
  ChildMediaDecoder decoder(options);
  const test::ChildWatch watch;
  int asked = 0;
  // Before it waits, when it has a place, and while the child runs.
  const auto medium = MakeMedium(MediumKind::kImage, test::RedBluePng(16, 8), "messages[0]",
                                 [&asked] { return ++asked == 4; });
  const auto image = decoder.Decode(*medium);
  watch.ExpectNothingLeft();
  ASSERT_FALSE(image.has_value());
  EXPECT_EQ(image.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(asked, 4);
  EXPECT_EQ(log_, "") << "nothing is wrong with the file";
}

TEST_F(ChildMediaDecoderTest, NoChildIsStartedForAClientThatHasLeft) {
  ChildMediaDecoderOptions options = Options();
  options.argv = {"/nonexistent/program"};
  const auto medium =
      MakeMedium(MediumKind::kImage, test::RedBluePng(16, 8), "messages[0]", [] { return true; });
  const auto image = ChildMediaDecoder(options).Decode(*medium);
  ASSERT_FALSE(image.has_value());
  EXPECT_EQ(image.error().code, ErrorCode::kCancelled);
}

TEST_F(ChildMediaDecoderTest, AFileWaitsForNoneOfThoseWhoseClientsHaveLeft) {
  ChildMediaDecoderOptions options = Options();
  options.argv = {"/bin/sh", "-c",
                  "test -e " + Path("hang") + " && exec sleep 1000; exec " CAIRN_PROGRAM " " +
                      std::string(kDecodeMediaCommand)};
  options.children_max = 1;
  options.wait_time_max = std::chrono::hours(1);
  options.decode_time_max = std::chrono::hours(1);
  ChildMediaDecoder decoder(options);
  std::ofstream(Path("hang")) << "yes";
  std::atomic<bool> gone = false;
  std::vector<std::thread> left;
  for (int i = 0; i < 6; ++i) {
    left.emplace_back([&] {
      const auto medium = MakeMedium(MediumKind::kImage, test::RedBluePng(16, 8), "messages[0]",
                                     [&] { return gone.load(); });
      const auto image = decoder.Decode(*medium);
      ASSERT_FALSE(image.has_value());
      EXPECT_EQ(image.error().code, ErrorCode::kCancelled);
    });
  }
  gone = true;
  for (std::thread& thread : left) thread.join();  // it would take six hours
  std::filesystem::remove(Path("hang"));
  const auto image = decoder.Decode(*Image(test::RedBluePng(16, 8)));
  ASSERT_TRUE(image.has_value()) << image.error().message;
  ExpectRedBlue(*image, 16, 8);
}

TEST_F(ChildMediaDecoderTest, AChildThatWritesNonsenseIsAnError) {
  for (const char* script : {"head -c 100000 /dev/zero", "head -c 10 /dev/zero", "yes", "exit 0",
                             "cat", "exec cat /dev/urandom"}) {
    const Error error = ErrorWith({"/bin/sh", "-c", script});
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument) << script;
    EXPECT_EQ(error.message, "the image cannot be decoded") << script;
  }
}

TEST_F(ChildMediaDecoderTest, AMissingProgramIsNoErrorOfTheFile) {
  const Error error = ErrorWith({"/nonexistent/program"});
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_NE(log_.find("/nonexistent/program"), std::string::npos);
}

TEST_F(ChildMediaDecoderTest, ARepliedImageIsTakenOnlyIfItIsAllThere) {
  const auto medium = Image(test::RedBluePng(16, 8));
  DecodeReply reply;
  reply.outcome = DecodeOutcome::kDecoded;
  reply.width = 16;
  reply.height = 8;
  reply.payload_bytes = 16 * 8 * 3;
  const std::string pixels(reply.payload_bytes, 'p');
  EXPECT_TRUE(Answered(reply, pixels, *medium).has_value());
  for (const std::string& payload :
       {std::string(), pixels.substr(1), pixels + "p", pixels + std::string(1 << 20, 'p')}) {
    const auto image = Answered(reply, payload, *medium);
    ASSERT_FALSE(image.has_value()) << payload.size();
    EXPECT_EQ(image.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST_F(ChildMediaDecoderTest, ARepliedSizeIsNotBelieved) {
  const auto medium = Image(test::RedBluePng(16, 8));
  const std::string pixels(16 * 8 * 3, 'p');
  DecodeReply good;
  good.outcome = DecodeOutcome::kDecoded;
  good.width = 16;
  good.height = 8;
  good.payload_bytes = pixels.size();
  std::vector<DecodeReply> replies(7, good);
  replies[0].magic ^= 1U;
  replies[1].outcome = static_cast<DecodeOutcome>(3);
  replies[2].width = 17;
  replies[3].payload_bytes = std::numeric_limits<uint64_t>::max();
  replies[4].width = 0x80000000;
  replies[4].height = 0x80000000;
  replies[5].payload_bytes = pixels.size() - 1;
  replies[6].outcome = DecodeOutcome::kInvalid;  // and then a text that is too long
  for (const DecodeReply& reply : replies) {
    const test::ChildWatch watch;
    const auto image = Answered(reply, pixels, *medium);
    watch.ExpectNothingLeft();
    ASSERT_FALSE(image.has_value());
    EXPECT_EQ(image.error().message, "the image cannot be decoded");
  }
}

TEST_F(ChildMediaDecoderTest, RepliedSamplesAreNotBelieved) {
  const auto medium = Audio(KeptMediaFile("tone.flac"));
  DecodeReply reply;
  reply.outcome = DecodeOutcome::kDecoded;
  reply.payload_bytes = 8;
  const float valid[] = {0.5F, -1.0F};
  const float too_large[] = {0.5F, 1.5F};
  const float not_a_number[] = {0.5F, std::numeric_limits<float>::quiet_NaN()};
  const auto text = [](const float* samples) {
    return std::string(reinterpret_cast<const char*>(samples), 8);
  };
  EXPECT_TRUE(Answered(reply, text(valid), *medium).has_value());
  EXPECT_FALSE(Answered(reply, text(too_large), *medium).has_value());
  EXPECT_FALSE(Answered(reply, text(not_a_number), *medium).has_value());
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{7}, uint64_t{600 * 16'000 + 1} * 4}) {
    reply.payload_bytes = bytes;
    EXPECT_FALSE(Answered(reply, text(valid), *medium).has_value()) << bytes;
  }
}

TEST_F(ChildMediaDecoderTest, AChildsWordsReachTheClientAsPrintableTextAlone) {
  DecodeReply reply;
  reply.outcome = DecodeOutcome::kInvalid;
  const std::string words = "no\n\x1B[31m\xFF";
  reply.payload_bytes = words.size();
  const auto image = Answered(reply, words, *Image(test::RedBluePng(16, 8)));
  ASSERT_FALSE(image.has_value());
  EXPECT_EQ(image.error().message, "no??[31m?");
}

TEST_F(ChildMediaDecoderTest, TheChildGetsNoDescriptorAndNoEnvironment) {
  const int descriptor = 77;
  ASSERT_EQ(dup2(STDIN_FILENO, descriptor), descriptor);  // without close-on-exec
  setenv("CAIRN_TEST_SECRET", "swordfish", 1);
  ErrorWith({"/bin/sh", "-c",
             "{ [ -e /proc/$$/fd/77 ] && echo leaked; echo ran; env; } >" + Path("seen")});
  close(descriptor);
  unsetenv("CAIRN_TEST_SECRET");
  EXPECT_NE(Text("seen").find("ran"), std::string::npos);
  EXPECT_EQ(Text("seen").find("leaked"), std::string::npos);
  EXPECT_EQ(Text("seen").find("swordfish"), std::string::npos);
}

TEST_F(ChildMediaDecoderTest, NoMoreChildrenRunThanAllowed) {
  std::filesystem::create_directories(Path("running"));
  ChildMediaDecoderOptions options = Options();
  options.children_max = 2;
  options.argv = {"/bin/sh", "-c",
                  "touch " + Path("running") + "/$$; ls " + Path("running") + " | wc -l >>" +
                      Path("counts") + "; sleep 0.05; rm " + Path("running") + "/$$"};
  ChildMediaDecoder decoder(options);
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back(
        [&] { EXPECT_FALSE(decoder.Decode(*Image(test::RedBluePng(16, 8))).has_value()); });
  }
  for (std::thread& thread : threads) thread.join();
  std::ifstream in(Path("counts"));
  int lines = 0;
  for (int count = 0; in >> count; ++lines) EXPECT_LE(count, 2);
  EXPECT_EQ(lines, 8);
}

TEST_F(ChildMediaDecoderTest, ACallThatWaitsTooLongForAnotherIsUnavailable) {
  ChildMediaDecoderOptions options = Options();
  options.children_max = 1;
  options.decode_time_max = milliseconds(60'000);
  options.wait_time_max = milliseconds(100);
  // Runs until the test says so.
  options.argv = {
      "/bin/sh", "-c",
      "touch " + Path("started") + "; while [ ! -e " + Path("end") + " ]; do sleep 0.01; done"};
  ChildMediaDecoder decoder(options);
  const auto medium = Image(test::RedBluePng(16, 8));
  std::thread first([&] { EXPECT_FALSE(decoder.Decode(*medium).has_value()); });
  while (!std::filesystem::exists(Path("started"))) std::this_thread::sleep_for(milliseconds(5));
  const auto second = decoder.Decode(*medium);
  std::ofstream(Path("end")) << "\n";
  first.join();
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace cairn::child_media_decoder_test
