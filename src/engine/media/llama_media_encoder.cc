#include "engine/media/llama_media_encoder.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "engine/llama/backend/computing_libraries.h"
#include "engine/llama/state/state_facts.h"
#include "engine/media/llama_mtmd_calls.h"
#include "engine/media/llama_projector.h"

namespace cairn {
namespace {

// The version of our own use of libmtmd. Incremented whenever a change alters layouts or rows.
constexpr int kEncoderVersion = 1;

std::string KindOf(const DecodedMedium& medium) {
  return std::string(MediumKindName(medium.kind));
}

bool IsEmpty(const DecodedMedium& medium) {
  if (medium.kind == MediumKind::kAudio) return medium.samples.empty();
  return medium.width == 0 || medium.height == 0;
}

MtmdBitmapPtr ToBitmap(const DecodedMedium& medium, bool with_content) {
  if (medium.kind == MediumKind::kAudio) {
    return MtmdBitmapPtr(CallWithDefaults(mtmd_bitmap_init_from_audio, medium.samples.size(),
                                          with_content ? medium.samples.data() : nullptr));
  }
  const size_t bytes = size_t{3} * medium.width * medium.height;
  CHECK(!with_content || medium.rgb.size() == bytes);
  const auto* pixels = reinterpret_cast<const unsigned char*>(medium.rgb.data());
  return MtmdBitmapPtr(CallWithDefaults(mtmd_bitmap_init, medium.width, medium.height,
                                        with_content ? pixels : nullptr));
}

bool IsText(const mtmd_input_chunk* chunk) {
  return mtmd_input_chunk_get_type(chunk) == MTMD_INPUT_CHUNK_TYPE_TEXT;
}

// Appends the tokens of a text chunk to the last piece if that is a text too.
Status AddText(const mtmd_input_chunk* chunk, Token vocab_size, MediumLayout* layout) {
  size_t count = 0;
  const llama_token* tokens = mtmd_input_chunk_get_tokens_text(chunk, &count);
  if (count == 0) return {};
  // libmtmd looks some tokens up by their text, and takes what it finds, even if that is nothing.
  const bool known = std::all_of(tokens, tokens + count,
                                 [&](Token token) { return token >= 0 && token < vocab_size; });
  if (!known) {
    return Fail(ErrorCode::kUnsupported,
                "the projector puts tokens around images that the model's vocabulary lacks; it "
                "belongs to another model");
  }
  if (layout->empty() || layout->back().text.empty()) layout->emplace_back();
  MediumPiece& piece = layout->back();
  piece.text.insert(piece.text.end(), tokens, tokens + count);
  return {};
}

// The rows of an image lie in a grid, those of a recording in a line.
std::vector<RowPosition> PositionsOf(const mtmd_input_chunk* chunk) {
  std::vector<RowPosition> positions;
  const mtmd_image_tokens* image = mtmd_input_chunk_get_tokens_image(chunk);
  const size_t rows = mtmd_input_chunk_get_n_tokens(chunk);
  for (size_t i = 0; i < rows; ++i) {
    if (image == nullptr) {
      const auto position = static_cast<uint32_t>(i);
      positions.push_back({position, position, position});
      continue;
    }
    const mtmd_decoder_pos position =
        CallWithDefaults(mtmd_image_tokens_get_decoder_pos, image, /*pos_0=*/0, i);
    positions.push_back({position.t, position.y, position.x});
  }
  return positions;
}

// `threads` are a fact because it is not known that they change no bits.
std::string IdentityOf(const MediaEncoderOptions& options, const LlamaProjector& projector) {
  const char* features = llama_print_system_info();
  return FactsText({{"cairn_media", std::to_string(kEncoderVersion)},
                    {"projector", projector.digest},
                    {"image_min_tokens", std::to_string(std::max(options.image_min_tokens, -1))},
                    {"image_max_tokens", std::to_string(std::max(options.image_max_tokens, -1))},
                    {"offload", options.offload ? "yes" : "no"},
                    {"threads", std::to_string(projector.threads)},
                    {"features", features == nullptr ? "" : features},
                    {"libraries", ComputingLibraries()},
                    {"settings", ComputingSettings()}});
}

}  // namespace

struct LlamaMediaEncoder::Parts {
  // Returns the chunks of a text that holds nothing but the medium. `with_content`: for Encode.
  Result<MtmdChunksPtr> Tokenize(const DecodedMedium& medium, bool with_content) const;
  // Computes the rows of one chunk.
  Result<EncodedPiece> EncodeChunk(const mtmd_input_chunk* chunk) const;

  LlamaProjector projector;
  size_t embedding_size = 0;
  Token vocab_size = 0;
  bool takes_images = false;
  bool takes_audio = false;
  bool uses_mrope = false;

  mtmd_context* context() const { return projector.context.get(); }
};

Result<MtmdChunksPtr> LlamaMediaEncoder::Parts::Tokenize(const DecodedMedium& medium,
                                                         bool with_content) const {
  const bool taken = medium.kind == MediumKind::kAudio ? takes_audio : takes_images;
  if (!taken) {
    return Fail(ErrorCode::kInvalidArgument,
                "the model takes no " + KindOf(medium) + ", because its projector encodes none");
  }
  if (IsEmpty(medium)) {
    return Fail(ErrorCode::kInvalidArgument, "the " + KindOf(medium) + " is empty");
  }
  const MtmdBitmapPtr bitmap = ToBitmap(medium, with_content);
  const mtmd_bitmap* bitmaps[] = {bitmap.get()};
  MtmdChunksPtr chunks(mtmd_input_chunks_init());
  std::string reason;
  try {
    const char* marker = mtmd_get_marker(context());
    if (TokenizeMedia(context(), chunks.get(), marker, bitmaps, 1) == 0) return chunks;
  } catch (const std::exception& e) {
    reason = std::string(": ") + e.what();
  }
  return Fail(ErrorCode::kInvalidArgument,
              "the model's projector cannot take this " + KindOf(medium) + reason);
}

Result<EncodedPiece> LlamaMediaEncoder::Parts::EncodeChunk(const mtmd_input_chunk* chunk) const {
  std::string reason;
  const float* rows = nullptr;
  try {
    if (CallWithDefaults(mtmd_encode_chunk, context(), chunk) == 0)
      rows = mtmd_get_output_embd(context());
  } catch (const std::exception& e) {
    reason = std::string(": ") + e.what();
  }
  if (rows == nullptr) {
    return Fail(ErrorCode::kInternal, "libmtmd could not encode the medium" + reason);
  }
  EncodedPiece piece;
  piece.rows = mtmd_input_chunk_get_n_tokens(chunk);
  piece.positions = static_cast<size_t>(mtmd_input_chunk_get_n_pos(chunk));
  piece.non_causal = CallWithDefaults(mtmd_decode_use_non_causal, context(), chunk);
  if (uses_mrope) piece.row_positions = PositionsOf(chunk);
  piece.embeddings.assign(rows, rows + piece.rows * embedding_size);
  if (!std::all_of(piece.embeddings.begin(), piece.embeddings.end(),
                   [](float number) { return std::isfinite(number); })) {
    return Fail(ErrorCode::kInternal,
                "the projector computed numbers that are not finite; its file may be broken");
  }
  return piece;
}

LlamaMediaEncoder::LlamaMediaEncoder(std::unique_ptr<Parts> parts, std::string identity)
    : parts_(std::move(parts)), identity_(std::move(identity)) {}

LlamaMediaEncoder::~LlamaMediaEncoder() = default;

Result<std::unique_ptr<LlamaMediaEncoder>> LlamaMediaEncoder::Load(
    const MediaEncoderOptions& options, const LlamaEngine& engine) {
  CHECK(engine.model() != nullptr);
  auto projector = LoadProjector(options, engine.info().path, engine.model());
  if (!projector) return tl::unexpected(projector.error());

  auto parts = std::make_unique<Parts>();
  parts->projector = std::move(*projector);
  parts->embedding_size = static_cast<size_t>(llama_model_n_embd_inp(engine.model()));
  parts->vocab_size = static_cast<Token>(engine.info().vocab_size);
  parts->takes_images = mtmd_support_vision(parts->context());
  parts->takes_audio = mtmd_support_audio(parts->context());
  parts->uses_mrope = mtmd_decode_use_mrope(parts->context());
  const std::string identity = IdentityOf(options, parts->projector);
  std::unique_ptr<LlamaMediaEncoder> encoder(new LlamaMediaEncoder(std::move(parts), identity));
  // A projector whose tokens the vocabulary lacks is better refused now than with every image.
  if (encoder->takes_images()) {
    DecodedMedium image;
    image.width = image.height = 64;
    if (auto layout = encoder->Layout(image); !layout) return tl::unexpected(layout.error());
  }
  return encoder;
}

bool LlamaMediaEncoder::takes_images() const {
  return parts_->takes_images;
}

bool LlamaMediaEncoder::takes_audio() const {
  return parts_->takes_audio;
}

uint32_t LlamaMediaEncoder::sample_rate() const {
  if (!takes_audio()) return 0;
  return static_cast<uint32_t>(std::max(mtmd_get_audio_sample_rate(parts_->context()), 0));
}

Result<MediumLayout> LlamaMediaEncoder::Layout(const DecodedMedium& medium) const {
  auto chunks = parts_->Tokenize(medium, /*with_content=*/false);
  if (!chunks) return tl::unexpected(chunks.error());
  MediumLayout layout;
  for (size_t i = 0; i < mtmd_input_chunks_size(chunks->get()); ++i) {
    const mtmd_input_chunk* chunk = mtmd_input_chunks_get(chunks->get(), i);
    if (IsText(chunk)) {
      Status added = AddText(chunk, parts_->vocab_size, &layout);
      if (!added) return tl::unexpected(added.error());
      continue;
    }
    MediumPiece piece;
    piece.rows = mtmd_input_chunk_get_n_tokens(chunk);
    piece.positions = static_cast<size_t>(mtmd_input_chunk_get_n_pos(chunk));
    layout.push_back(std::move(piece));
  }
  return layout;
}

Result<std::vector<EncodedPiece>> LlamaMediaEncoder::Encode(const DecodedMedium& medium) {
  auto chunks = parts_->Tokenize(medium, /*with_content=*/true);
  if (!chunks) return tl::unexpected(chunks.error());
  std::vector<EncodedPiece> pieces;
  for (size_t i = 0; i < mtmd_input_chunks_size(chunks->get()); ++i) {
    const mtmd_input_chunk* chunk = mtmd_input_chunks_get(chunks->get(), i);
    if (IsText(chunk)) continue;
    auto piece = parts_->EncodeChunk(chunk);
    if (!piece) return tl::unexpected(piece.error());
    pieces.push_back(std::move(*piece));
  }
  return pieces;
}

}  // namespace cairn
