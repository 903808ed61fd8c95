#include "engine/media/llama_media_encoder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <ostream>
#include <sstream>
#include <thread>
#include <utility>

#include "testing/engine/test_models.h"

namespace cairn::llama_media_encoder_test {
namespace {

using test::MadeModel;
using test::MadeProjector;
using test::SmallOptions;

constexpr size_t kWidth = 64;  // of the made models

std::unique_ptr<LlamaEngine> LoadedEngine(const std::string& architecture, bool may_sleep = false) {
  LlamaOptions options = SmallOptions(MadeModel(architecture));
  options.may_sleep = may_sleep;
  auto engine = LlamaEngine::Load(options);
  if (!engine) ADD_FAILURE() << engine.error().message;
  return engine ? std::move(*engine) : nullptr;
}

MediaEncoderOptions OptionsFor(const std::string& projector_path) {
  MediaEncoderOptions options;
  options.projector_path = projector_path;
  options.offload = false;
  options.threads = 1;
  return options;
}

// A made model and a projector for it.
struct Pair {
  std::unique_ptr<LlamaEngine> engine;
  std::unique_ptr<LlamaMediaEncoder> encoder;
};

Pair LoadedPair(const std::string& architecture, const std::string& projector,
                bool may_sleep = false) {
  Pair pair;
  pair.engine = LoadedEngine(architecture, may_sleep);
  MediaEncoderOptions options = OptionsFor(MadeProjector(projector));
  options.may_sleep = may_sleep;
  auto encoder = LlamaMediaEncoder::Load(options, *pair.engine);
  if (!encoder) {
    ADD_FAILURE() << encoder.error().message;
    std::abort();
  }
  pair.encoder = std::move(*encoder);
  return pair;
}

// Two images of the same size with different seeds differ in every part.
DecodedMedium Image(uint32_t width, uint32_t height, uint32_t seed = 1) {
  DecodedMedium image;
  image.width = width;
  image.height = height;
  for (uint32_t y = 0; y < height; ++y) {
    for (uint32_t x = 0; x < width; ++x) {
      for (uint32_t colour = 1; colour <= 3; ++colour) {
        image.rgb.push_back(static_cast<uint8_t>((x * x / 7 + y * colour * seed * 5) % 256));
      }
    }
  }
  return image;
}

DecodedMedium Recording(size_t samples, float pitch = 0.1F) {
  DecodedMedium recording;
  recording.kind = MediumKind::kAudio;
  for (size_t i = 0; i < samples; ++i) {
    recording.samples.push_back(0.5F * std::sin(static_cast<float>(i) * pitch));
  }
  return recording;
}

MediumLayout LayoutOf(const LlamaMediaEncoder& encoder, const DecodedMedium& medium) {
  auto layout = encoder.Layout(medium);
  EXPECT_TRUE(layout.has_value()) << layout.error().message;
  return layout ? std::move(*layout) : MediumLayout{};
}

std::vector<EncodedPiece> Encoded(LlamaMediaEncoder* encoder, const DecodedMedium& medium) {
  auto pieces = encoder->Encode(medium);
  EXPECT_TRUE(pieces.has_value()) << pieces.error().message;
  return pieces ? std::move(*pieces) : std::vector<EncodedPiece>{};
}

std::string TextOf(const MediumPiece& piece) {
  std::string text;
  for (const Token token : piece.text) text += static_cast<char>(token);
  return text;
}

double Distance(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) sum += std::abs(a[i] - b[i]);
  return sum / static_cast<double>(a.size());
}

void ExpectThatLayoutAndRowsAgree(const MediumLayout& layout,
                                  const std::vector<EncodedPiece>& pieces) {
  std::vector<std::pair<size_t, size_t>> planned;
  for (const MediumPiece& piece : layout) {
    if (piece.text.empty()) planned.emplace_back(piece.rows, piece.positions);
  }
  std::vector<std::pair<size_t, size_t>> computed;
  for (const EncodedPiece& piece : pieces) {
    computed.emplace_back(piece.rows, piece.positions);
    EXPECT_EQ(piece.embeddings.size(), piece.rows * kWidth);
  }
  EXPECT_EQ(planned, computed);
  EXPECT_FALSE(planned.empty());
}

struct Kind {
  const char* architecture;
  const char* projector;
  bool is_audio = false;
  bool non_causal = false;
};
// Without it, the names of tests would hold addresses.
void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.projector << " with " << kind.architecture;
}
constexpr std::array<Kind, 5> kKinds = {{
    {"qwen35", "qwen3vl_merger"},
    {"qwen3vl", "qwen3vl_merger"},
    {"gemma3", "gemma3", false, true},
    {"lfm2", "lfm2"},
    {"llama", "qwen2a", true},
}};

class MediaEncoderKinds : public testing::TestWithParam<Kind> {
 protected:
  static DecodedMedium Medium(uint32_t seed) {
    if (GetParam().is_audio) return Recording(32'000, 0.05F * static_cast<float>(seed));
    return Image(200, 120, seed);
  }
};

INSTANTIATE_TEST_SUITE_P(Made, MediaEncoderKinds, testing::ValuesIn(kKinds),
                         [](const testing::TestParamInfo<Kind>& kind) {
                           return std::string(kind.param.architecture) + "_" + kind.param.projector;
                         });

TEST_P(MediaEncoderKinds, PlansTheRowsThatItComputes) {
  const Pair pair = LoadedPair(GetParam().architecture, GetParam().projector);
  EXPECT_EQ(pair.encoder->takes_audio(), GetParam().is_audio);
  EXPECT_EQ(pair.encoder->takes_images(), !GetParam().is_audio);
  EXPECT_EQ(pair.encoder->sample_rate(), GetParam().is_audio ? 16'000U : 0U);

  const MediumLayout layout = LayoutOf(*pair.encoder, Medium(1));
  const std::vector<EncodedPiece> pieces = Encoded(pair.encoder.get(), Medium(1));
  ExpectThatLayoutAndRowsAgree(layout, pieces);
  for (const EncodedPiece& piece : pieces) {
    EXPECT_EQ(piece.non_causal, GetParam().non_causal);
  }
  ASSERT_EQ(layout.size(), 3U);  // the marks around the rows are texts
  EXPECT_FALSE(layout.front().text.empty());
  EXPECT_FALSE(layout.back().text.empty());
}

TEST_P(MediaEncoderKinds, ComputesTheSameRowsForTheSameMediumOnly) {
  const Pair pair = LoadedPair(GetParam().architecture, GetParam().projector);
  const auto once = Encoded(pair.encoder.get(), Medium(1));
  const auto other = Encoded(pair.encoder.get(), Medium(2));
  const auto again = Encoded(pair.encoder.get(), Medium(1));
  ASSERT_EQ(once.size(), 1U);
  ASSERT_EQ(other.size(), 1U);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(once[0].embeddings, again[0].embeddings);
  EXPECT_GT(Distance(once[0].embeddings, other[0].embeddings), 0.01);
}

TEST(LlamaMediaEncoder, PutsTheMarksOfTheModelsFamilyAroundTheRows) {
  const Pair qwen = LoadedPair("qwen35", "qwen3vl_merger");
  const MediumLayout layout = LayoutOf(*qwen.encoder, Image(64, 64));
  ASSERT_EQ(layout.size(), 3U);
  EXPECT_EQ(TextOf(layout[0]), "<|vision_start|>");
  EXPECT_EQ(TextOf(layout[2]), "<|vision_end|>");
  const Pair gemma = LoadedPair("gemma3", "gemma3");
  EXPECT_EQ(TextOf(LayoutOf(*gemma.encoder, Image(64, 64)).front()), "<start_of_image>");
}

// 32 pixels a row, across and down: a grid of 10 by 3.
TEST(LlamaMediaEncoder, CountsTheRowsOfAWideImageAcrossAndDown) {
  const Pair pair = LoadedPair("qwen35", "qwen3vl_merger");
  const auto pieces = Encoded(pair.encoder.get(), Image(320, 96));
  ASSERT_EQ(pieces.size(), 1U);
  EXPECT_EQ(pieces[0].rows, 30U);
  EXPECT_EQ(pieces[0].positions, 10U);
  std::vector<RowPosition> wanted;
  for (uint32_t y = 0; y < 3; ++y) {
    for (uint32_t x = 0; x < 10; ++x) wanted.push_back({0, y, x});
  }
  EXPECT_EQ(pieces[0].row_positions, wanted);
}

TEST(LlamaMediaEncoder, GivesATallImageAsManyPositionsAsRowsDown) {
  const Pair pair = LoadedPair("qwen35", "qwen3vl_merger");
  const MediumLayout layout = LayoutOf(*pair.encoder, Image(96, 320));
  ASSERT_EQ(layout.size(), 3U);
  EXPECT_EQ(layout[1], (MediumPiece{{}, 30, 10}));
}

TEST(LlamaMediaEncoder, HasNoRowPositionsWithoutMRope) {
  const Pair pair = LoadedPair("gemma3", "gemma3");
  const auto pieces = Encoded(pair.encoder.get(), Image(320, 96));
  ASSERT_EQ(pieces.size(), 1U);
  EXPECT_TRUE(pieces[0].row_positions.empty());
  EXPECT_EQ(pieces[0].positions, pieces[0].rows);
}

TEST(LlamaMediaEncoder, GivesALongRecordingAPieceForEveryThirtySeconds) {
  const Pair pair = LoadedPair("llama", "qwen2a");
  const DecodedMedium recording = Recording(16'000 * 40);
  const MediumLayout layout = LayoutOf(*pair.encoder, recording);
  const auto pieces = Encoded(pair.encoder.get(), recording);
  EXPECT_EQ(pieces.size(), 2U);
  ExpectThatLayoutAndRowsAgree(layout, pieces);
}

TEST(LlamaMediaEncoder, CountsTheRowsOfARecordingInOneLineWithMRope) {
  const Pair pair = LoadedPair("qwen35", "qwen2a");
  const auto pieces = Encoded(pair.encoder.get(), Recording(16'000));
  ASSERT_EQ(pieces.size(), 1U);
  ASSERT_EQ(pieces[0].row_positions.size(), pieces[0].rows);
  EXPECT_EQ(pieces[0].positions, pieces[0].rows);
  EXPECT_EQ(pieces[0].row_positions[0], (RowPosition{0, 0, 0}));
  EXPECT_EQ(pieces[0].row_positions[7], (RowPosition{7, 7, 7}));
}

TEST(LlamaMediaEncoder, LimitsTheRowsOfAnImage) {
  const auto engine = LoadedEngine("qwen35");
  MediaEncoderOptions options = OptionsFor(MadeProjector("qwen3vl_merger"));
  options.image_max_tokens = 16;
  const auto encoder = LlamaMediaEncoder::Load(options, *engine);
  ASSERT_TRUE(encoder.has_value()) << encoder.error().message;
  const MediumLayout layout = LayoutOf(**encoder, Image(640, 640));
  ASSERT_EQ(layout.size(), 3U);
  EXPECT_LE(layout[1].rows, 16U);
  EXPECT_GT(layout[1].rows, 4U);

  options.image_min_tokens = 17;
  const auto refused = LlamaMediaEncoder::Load(options, *engine);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(refused.error().message, "an image cannot have at least 17 and at most 16 tokens");
}

TEST(LlamaMediaEncoder, RefusesMediaThatItCannotTake) {
  const Pair images = LoadedPair("gemma3", "gemma3");
  const auto recording = images.encoder->Layout(Recording(1000));
  ASSERT_FALSE(recording.has_value());
  EXPECT_EQ(recording.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(recording.error().message,
            "the model takes no audio, because its projector encodes none");
  const auto empty = images.encoder->Encode(DecodedMedium{});
  ASSERT_FALSE(empty.has_value());
  EXPECT_EQ(empty.error().message, "the image is empty");

  const Pair recordings = LoadedPair("llama", "qwen2a");
  EXPECT_FALSE(recordings.encoder->Encode(Image(64, 64)).has_value());
  EXPECT_FALSE(recordings.encoder->Layout(Recording(0)).has_value());
}

// A large image of LFM2-VL is cut into tiles; the made vocabulary has no token for its overview.
TEST(LlamaMediaEncoder, RefusesTokensThatTheVocabularyLacks) {
  const Pair pair = LoadedPair("lfm2", "lfm2");
  const auto layout = pair.encoder->Layout(Image(1600, 1000));
  ASSERT_FALSE(layout.has_value());
  EXPECT_EQ(layout.error().code, ErrorCode::kUnsupported);
}

TEST(LlamaMediaEncoder, PlansFromSeveralThreadsWhileItEncodes) {
  const Pair pair = LoadedPair("qwen35", "qwen3vl_merger");
  const DecodedMedium image = Image(320, 96);
  const MediumLayout wanted = LayoutOf(*pair.encoder, image);
  std::vector<std::thread> threads;
  std::array<bool, 3> same = {};
  for (bool& all : same) {
    threads.emplace_back([&] {
      all = true;
      for (int i = 0; i < 20; ++i) {
        const auto layout = pair.encoder->Layout(image);
        all = all && layout.has_value() && *layout == wanted;
      }
    });
  }
  ExpectThatLayoutAndRowsAgree(wanted, Encoded(pair.encoder.get(), image));
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(same, (std::array<bool, 3>{true, true, true}));
}

TEST(LlamaMediaEncoder, WorksWhileTheEngineSleeps) {
  const Pair pair = LoadedPair("qwen35", "qwen3vl_merger", /*may_sleep=*/true);
  const DecodedMedium image = Image(320, 96);
  const MediumLayout layout = LayoutOf(*pair.encoder, image);
  const auto pieces = Encoded(pair.encoder.get(), image);
  ASSERT_TRUE(pair.engine->Sleep().has_value());
  EXPECT_EQ(LayoutOf(*pair.encoder, image), layout);
  const auto asleep = Encoded(pair.encoder.get(), image);
  ASSERT_EQ(asleep.size(), 1U);
  EXPECT_EQ(asleep[0].embeddings, pieces[0].embeddings);
  ASSERT_TRUE(pair.engine->Wake().has_value());
  EXPECT_EQ(LayoutOf(*pair.encoder, image), layout);
}

TEST(LlamaMediaEncoder, IsIdentifiedByTheProjectorAndTheSettingsOfItsRows) {
  const auto engine = LoadedEngine("qwen35");
  const auto identity = [&](const MediaEncoderOptions& options) {
    const auto encoder = LlamaMediaEncoder::Load(options, *engine);
    return encoder ? (*encoder)->Identity() : encoder.error().message;
  };
  const MediaEncoderOptions options = OptionsFor(MadeProjector("qwen3vl_merger"));
  const std::string usual = identity(options);
  EXPECT_NE(usual.find("\nprojector="), std::string::npos) << usual;
  EXPECT_NE(usual.find("libmtmd "), std::string::npos) << usual;
  EXPECT_EQ(identity(options), usual);

  const std::string copy = testing::TempDir() + "cairn_" + std::to_string(getpid()) + "_copy.gguf";
  std::filesystem::copy_file(options.projector_path, copy);
  EXPECT_EQ(identity(OptionsFor(copy)), usual);
  std::filesystem::remove(copy);

  const auto other = MakeProjectorRecipe({"qwen3vl_merger", kWidth, /*seed=*/2});
  ASSERT_TRUE(WriteProjector(*other, copy).has_value());
  EXPECT_NE(identity(OptionsFor(copy)), usual);
  std::filesystem::remove(copy);

  MediaEncoderOptions limited = options;
  limited.image_max_tokens = 16;
  EXPECT_NE(identity(limited), usual);
}

// A file beside the made ones; removed at the end of its test.
class BrokenProjector : public testing::Test {
 protected:
  ~BrokenProjector() override { std::filesystem::remove(path_); }

  Error LoadError(const std::string& path) {
    const auto encoder = LlamaMediaEncoder::Load(OptionsFor(path), *engine_);
    EXPECT_FALSE(encoder.has_value());
    return encoder ? Error{} : encoder.error();
  }

  const std::string path_ =
      testing::TempDir() + "cairn_" + std::to_string(getpid()) + "_broken.gguf";
  const std::unique_ptr<LlamaEngine> engine_ = LoadedEngine("qwen35");
};

TEST_F(BrokenProjector, IsRefusedIfThereIsNone) {
  const Error error = LoadError(path_);
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_EQ(error.message, "there is no projector file '" + path_ + "'");
  EXPECT_EQ(LoadError(testing::TempDir()).code, ErrorCode::kNotFound);
}

TEST_F(BrokenProjector, IsRefusedWhereverItWasCutOff) {
  std::stringstream whole;
  whole << std::ifstream(MadeProjector("qwen3vl_merger"), std::ios::binary).rdbuf();
  const std::string bytes = whole.str();
  for (const size_t size :
       {size_t{0}, size_t{3}, size_t{100}, size_t{1500}, bytes.size() / 2, bytes.size() - 1}) {
    SCOPED_TRACE(size);
    std::ofstream(path_, std::ios::binary) << bytes.substr(0, size);
    const Error error = LoadError(path_);
    EXPECT_EQ(error.code, ErrorCode::kCorrupt);
    EXPECT_EQ(error.message.find("the projector file '" + path_ + "' "), 0U) << error.message;
  }
}

TEST_F(BrokenProjector, IsRefusedForAModelOfAnotherSizeWithBothSizes) {
  for (const char* kind : {"qwen3vl_merger", "gemma3"}) {
    const Error error = LoadError(MadeProjector(kind, 96));
    EXPECT_EQ(error.code, ErrorCode::kUnsupported);
    EXPECT_NE(error.message.find("64"), std::string::npos) << error.message;
    EXPECT_NE(error.message.find("96"), std::string::npos) << error.message;
    EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
  }
}

TEST_F(BrokenProjector, IsRefusedIfItIsATextModel) {
  const Error error = LoadError(MadeModel("llama"));
  EXPECT_EQ(error.code, ErrorCode::kUnsupported);
  EXPECT_EQ(error.message, "'" + MadeModel("llama") +
                               "' is no projector (mmproj), but a file of the architecture "
                               "'llama'");
}

TEST_F(BrokenProjector, IsRefusedIfItLacksATensorOrItsKindIsUnknown) {
  auto recipe = MakeProjectorRecipe({"qwen3vl_merger", kWidth});
  ASSERT_TRUE(recipe.has_value());
  ProjectorRecipe less = *recipe;
  less.tensors.pop_back();
  ASSERT_TRUE(WriteProjector(less, path_).has_value());
  const Error lacking = LoadError(path_);
  EXPECT_EQ(lacking.code, ErrorCode::kUnsupported);
  EXPECT_NE(lacking.message.find("mm.2.bias"), std::string::npos) << lacking.message;

  for (auto& [key, value] : recipe->metadata) {
    if (key == "clip.projector_type") value = std::string("camera");
  }
  ASSERT_TRUE(WriteProjector(*recipe, path_).has_value());
  const Error unknown = LoadError(path_);
  EXPECT_EQ(unknown.code, ErrorCode::kUnsupported);
  EXPECT_NE(unknown.message.find("camera"), std::string::npos) << unknown.message;
}

TEST(LlamaMediaEncoder, SendsLibmtmdsLogToItsSink) {
  std::mutex mutex;
  std::string heard;
  const auto engine = LoadedEngine("gemma3");
  MediaEncoderOptions options = OptionsFor(MadeProjector("gemma3"));
  options.log = [&](LogLevel, std::string_view line) {
    const std::lock_guard lock(mutex);
    heard += std::string(line) + "\n";
  };
  testing::internal::CaptureStderr();
  EXPECT_TRUE(LlamaMediaEncoder::Load(options, *engine).has_value());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  {
    const std::lock_guard lock(mutex);
    EXPECT_NE(heard.find("Synthetic gemma3"), std::string::npos) << heard;
  }
  // The sink must not outlive what it writes to.
  options.log = {};
  EXPECT_TRUE(LlamaMediaEncoder::Load(options, *engine).has_value());
}

}  // namespace
}  // namespace cairn::llama_media_encoder_test
