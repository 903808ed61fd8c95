// The rows of media in sequences of LlamaEngine: positions, snapshots, segments and forks.

#include <gtest/gtest.h>
#include <mtmd-helper.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "engine/llama/model/llama_params.h"
#include "engine/media/llama_media_encoder.h"
#include "engine/media/llama_mtmd_calls.h"
#include "engine/media/llama_projector.h"
#include "media/media_tokens.h"
#include "testing/engine/test_models.h"

namespace cairn::llama_media_decode_test {
namespace {

using test::MadeModel;
using test::MadeProjector;
using test::SmallOptions;

struct Kind {
  std::string architecture;
  std::string projector;
  bool unified = true;
};

void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.architecture << " with " << kind.projector << (kind.unified ? "" : ", streams");
}

DecodedMedium Image(uint32_t width, uint32_t height) {
  DecodedMedium image;
  image.width = width;
  image.height = height;
  for (uint32_t i = 0; i < 3 * width * height; ++i) {
    image.rgb.push_back(static_cast<uint8_t>(i * i / 11));
  }
  return image;
}

Tokens Text(size_t size, Token first) {
  Tokens tokens;
  for (size_t i = 0; i < size; ++i) tokens.push_back(first + static_cast<Token>(i % 50));
  return tokens;
}

class LlamaMediaDecode : public ::testing::TestWithParam<Kind> {
 protected:
  LlamaMediaDecode() {
    options_ = SmallOptions(MadeModel(GetParam().architecture));
    options_.slots = 2;
    options_.unified = GetParam().unified;
    auto engine = LlamaEngine::Load(options_);
    if (!engine) std::abort();
    engine_ = std::move(*engine);
    media_options_.projector_path = MadeProjector(GetParam().projector);
    media_options_.offload = false;
    media_options_.threads = 1;
    auto encoder = LlamaMediaEncoder::Load(media_options_, *engine_);
    if (!encoder) std::abort();
    layout_ = encoder.value()->Layout(image_).value();
    pieces_ = encoder.value()->Encode(image_).value();
  }

  void Decode(SeqId seq, const Tokens& tokens, Tokens* held) {
    ASSERT_TRUE(engine_->Decode(seq, held->size(), tokens).has_value());
    held->insert(held->end(), tokens.begin(), tokens.end());
  }
  // Decodes text and the image. `held`: the sequence's tokens.
  void DecodeImage(SeqId seq, Tokens* held) {
    auto piece = pieces_.begin();
    for (const MediumPiece& part : layout_) {
      if (!part.text.empty()) {
        Decode(seq, part.text, held);
        continue;
      }
      const Tokens tokens = MediaTokens({7, 0}, part.rows, part.positions);
      ASSERT_TRUE(engine_->DecodeMedium(seq, held->size(), tokens, *piece++).has_value());
      held->insert(held->end(), tokens.begin(), tokens.end());
    }
  }
  // As a plain prompt: text, the image, text.
  Tokens DecodeAll(SeqId seq) {
    Tokens held;
    Decode(seq, Text(64, 100), &held);
    DecodeImage(seq, &held);
    Decode(seq, Text(40, 120), &held);
    return held;
  }
  std::vector<float> Logits() const { return {engine_->Logits().begin(), engine_->Logits().end()}; }

  LlamaOptions options_;
  MediaEncoderOptions media_options_;
  std::unique_ptr<LlamaEngine> engine_;
  const DecodedMedium image_ = Image(256, 192);
  MediumLayout layout_;
  std::vector<EncodedPiece> pieces_;
};

// The same prompt, decoded by libmtmd's helper in a context of its own.
std::vector<float> LogitsOfHelper(const LlamaOptions& options,
                                  const MediaEncoderOptions& media_options,
                                  const DecodedMedium& image, llama_model* model) {
  auto projector = LoadProjector(media_options, options.model_path, model);
  const auto params = MakeContextParams(options, model);
  LlamaContextPtr context(llama_init_from_model(model, *params));
  llama_pos past = 0;
  const auto decode = [&](const Tokens& tokens) {
    llama_batch batch = llama_batch_init(static_cast<int32_t>(tokens.size()), 0, 1);
    batch.n_tokens = static_cast<int32_t>(tokens.size());
    for (size_t i = 0; i < tokens.size(); ++i) {
      batch.token[i] = tokens[i];
      batch.pos[i] = past++;
      batch.n_seq_id[i] = 1;
      batch.seq_id[i][0] = 0;
      batch.logits[i] = i + 1 == tokens.size() ? 1 : 0;
    }
    EXPECT_EQ(llama_decode(context.get(), batch), 0);
    llama_batch_free(batch);
  };
  decode(Text(64, 100));
  MtmdBitmapPtr bitmap(mtmd_bitmap_init(image.width, image.height, image.rgb.data()));
  MtmdChunksPtr chunks(mtmd_input_chunks_init());
  const std::string marker = mtmd_get_marker(projector->context.get());
  const mtmd_bitmap* bitmaps = bitmap.get();
  EXPECT_EQ(TokenizeMedia(projector->context.get(), chunks.get(), marker.c_str(), &bitmaps, 1), 0);
  EXPECT_EQ(
      CallWithDefaults(mtmd_helper_eval_chunks, projector->context.get(), context.get(),
                       chunks.get(), past, 0, static_cast<int32_t>(params->n_batch), false, &past),
      0);
  decode(Text(40, 120));
  const float* logits = llama_get_logits_ith(context.get(), -1);
  return {logits, logits + llama_vocab_n_tokens(llama_model_get_vocab(model))};
}

TEST_P(LlamaMediaDecode, HasTheLogitsOfLibmtmdsOwnHelper) {
  DecodeAll(0);
  const std::vector<float> logits = Logits();
  const std::vector<float> expected =
      LogitsOfHelper(options_, media_options_, image_, engine_->model());
  ASSERT_EQ(logits.size(), expected.size());
  for (size_t i = 0; i < logits.size(); ++i) ASSERT_NEAR(logits[i], expected[i], 1e-3) << i;
}

// Longer than the windows of the made models.
TEST_P(LlamaMediaDecode, HasTheSameLogitsInASequenceThatWasUsed) {
  const auto decode = [this] {
    Tokens held;
    for (int i = 0; i < 5; ++i) Decode(0, Text(128, 100), &held);
    DecodeImage(0, &held);
    Decode(0, Text(100, 120), &held);
    DecodeImage(0, &held);
    Decode(0, Text(40, 120), &held);
    return Logits();
  };
  const std::vector<float> logits = decode();
  for (int i = 0; i < 3; ++i) {
    engine_->Clear(0);
    EXPECT_EQ(decode(), logits);
  }
}

TEST_P(LlamaMediaDecode, GoesBackToTheEndOfAnImage) {
  Tokens held;
  Decode(0, Text(64, 100), &held);
  DecodeImage(0, &held);
  Bytes snapshot;
  const bool snaps = engine_->traits().NeedsSnapshots();
  if (snaps) snapshot = engine_->TakeSnapshot(0).value();
  const size_t end = held.size();
  Decode(0, Text(40, 120), &held);
  const std::vector<float> logits = Logits();
  if (snaps) {
    ASSERT_TRUE(engine_->Restore(0, end, snapshot).has_value());
  } else {
    ASSERT_TRUE(engine_->CanTruncate(0, end));
    ASSERT_TRUE(engine_->Truncate(0, end).has_value());
  }
  held.resize(end);
  Decode(0, Text(40, 120), &held);
  EXPECT_EQ(Logits(), logits);
}

TEST_P(LlamaMediaDecode, IsAssembledAndForkedWithItsImage) {
  if (!engine_->traits().segments) GTEST_SKIP() << "this model has no segments";
  Tokens held = DecodeAll(0);
  const size_t end = held.size();
  Bytes snapshot;
  if (engine_->traits().NeedsSnapshots()) snapshot = engine_->TakeSnapshot(0).value();
  const Bytes front = engine_->TakeSegment(0, 0, 64).value();
  const Bytes back = engine_->TakeSegment(0, 64, end).value();
  Decode(0, Text(9, 140), &held);
  const std::vector<float> logits = Logits();
  engine_->Clear(0);
  const std::array<SegmentPart, 2> parts = {SegmentPart{0, 64, front}, SegmentPart{64, end, back}};
  const TokenSpan prefix = TokenSpan(held).first(end);
  engine_->SetMedia(1, prefix);
  const Status assembled = engine_->Assemble(1, 0, parts, end, snapshot);
  ASSERT_TRUE(assembled.has_value()) << assembled.error().message;
  const Status forked = engine_->Fork(1, 0, end, snapshot);
  ASSERT_TRUE(forked.has_value()) << forked.error().message;
  for (const SeqId seq : {1, 0}) {
    ASSERT_TRUE(engine_->Decode(seq, end, Text(9, 140)).has_value());
    const std::vector<float> again = Logits();
    for (size_t i = 0; i < again.size(); ++i) ASSERT_NEAR(again[i], logits[i], 1e-4) << seq;
  }
}

INSTANTIATE_TEST_SUITE_P(OfEveryMemory, LlamaMediaDecode,
                         ::testing::Values(Kind{"qwen35", "qwen3vl_merger"},
                                           Kind{"qwen35", "qwen3vl_merger", false},
                                           Kind{"gemma3", "gemma3"},
                                           Kind{"gemma3", "gemma3", false}, Kind{"llama", "lfm2"},
                                           Kind{"llama", "lfm2", false}, Kind{"lfm2", "lfm2"}),
                         [](const auto& test) {
                           return test.param.architecture + (test.param.unified ? "" : "_streams");
                         });

}  // namespace
}  // namespace cairn::llama_media_decode_test
