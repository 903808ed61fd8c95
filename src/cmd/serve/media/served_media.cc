#include "cmd/serve/media/served_media.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/process/spawn.h"
#include "cmd/serve/base/cache_flags.h"
#include "cmd/serve/media/media_flags.h"
#include "engine/media/llama_media_encoder.h"
#include "media/child/child_media_decoder.h"
#include "media/decode/decode_child.h"

namespace cairn {
namespace {

// A screenshot of 1,300 rows of a model with 4,096 numbers a row takes 21 MB; its rows are needed
// again only where the prompt before it changes.
constexpr size_t kRowsShare = 16;
constexpr size_t kRowsBytesMax = size_t{512} << 20;

// Several threads may use it: they encode one after the other.
class SharedMediaEncoder final : public MediaEncoder {
 public:
  explicit SharedMediaEncoder(std::unique_ptr<MediaEncoder> encoder)
      : encoder_(std::move(encoder)) {}

  bool takes_images() const override { return encoder_->takes_images(); }
  bool takes_audio() const override { return encoder_->takes_audio(); }
  uint32_t sample_rate() const override { return encoder_->sample_rate(); }
  std::string Identity() const override { return encoder_->Identity(); }
  Result<MediumLayout> Layout(const DecodedMedium& medium) const override {
    return encoder_->Layout(medium);
  }
  // Any thread.
  Result<std::vector<EncodedPiece>> Encode(const DecodedMedium& medium) override {
    const MutexLock lock(mutex_);
    return encoder_->Encode(medium);
  }

 private:
  const std::unique_ptr<MediaEncoder> encoder_;
  Mutex mutex_;  // guards no member: held while a medium is encoded
};

size_t RowsBytesMax(const ServeOptions& options) {
  return std::min(ToCacheOptions(options).ram_bytes_max / kRowsShare, kRowsBytesMax);
}

MediaEncoderOptions EncoderOptionsOf(const ServeOptions& options, const LlamaOptions& llama) {
  MediaEncoderOptions encoder;
  encoder.projector_path = options.media.mmproj_path;
  encoder.offload = options.media.mmproj_offload;
  encoder.image_min_tokens = options.media.image_tokens_min;
  encoder.image_max_tokens = options.media.image_tokens_max;
  encoder.threads = llama.threads;
  encoder.may_sleep = llama.may_sleep;
  encoder.log = llama.log;
  return encoder;
}

ChildMediaDecoderOptions DecoderOptionsOf(const ServeOptions& options, const MediaEncoder& encoder,
                                          LogSink log) {
  ChildMediaDecoderOptions decoder;
  decoder.argv = {OwnProgram(), std::string(kDecodeMediaCommand)};
  decoder.limits.file_bytes_max = options.media.media_file_mib << 20U;
  decoder.sample_rate = encoder.sample_rate();
  decoder.log = std::move(log);
  decoder.keeps_one_ready = true;
  return decoder;
}

}  // namespace

Result<ServedMedia> LoadMedia(const ServeOptions& options, const LlamaOptions& llama,
                              const LlamaEngine& engine, LogSink log) {
  ServedMedia media;
  media.rules = MediaRulesOf(options.media);
  if (options.media.mmproj_path.empty()) return media;
  auto encoder = LlamaMediaEncoder::Load(EncoderOptionsOf(options, llama), engine);
  if (!encoder) return Fail(encoder.error().code, "--mmproj: " + encoder.error().message);
  media.encoder = std::make_unique<SharedMediaEncoder>(*std::move(encoder));
  media.rules.takes_images = media.encoder->takes_images();
  media.rules.takes_audio = media.encoder->takes_audio();
  media.decoder = std::make_unique<KeptMediaDecoder>(std::make_unique<ChildMediaDecoder>(
      DecoderOptionsOf(options, *media.encoder, std::move(log))));
  media.layouts = std::make_unique<MediaLayouts>(media.decoder.get(), media.encoder.get());
  media.rows_bytes_max = RowsBytesMax(options);
  return media;
}

Result<EncodedPieces> EncodeNow(const ServedMedia& media, NamespaceId key, const Medium& medium) {
  auto pieces = EncodeDecoded(media.encoder.get(), media.decoder->DecodeFor(key, medium), medium);
  if (!pieces) return Fail(pieces.error().code, medium.place + ": " + pieces.error().message);
  return pieces;
}

void StartEncoding(const DiskCache& disk, const Clock* clock, std::function<void()> on_encoded,
                   ServedMedia* media) {
  if (media->encoder == nullptr) return;
  if (disk.store != nullptr) {
    media->saved =
        std::make_unique<SavedMedia>(disk.store.get(), disk.saved_as, media->encoder->Identity());
  }
  EncodedMedia::Options options;
  options.bytes_max = media->rows_bytes_max;
  options.on_encoded = std::move(on_encoded);
  options.saved = media->saved.get();
  media->rows = std::make_unique<EncodedMedia>(media->decoder.get(), media->encoder.get(), clock,
                                               std::move(options));
}

}  // namespace cairn
