#include "cmd/serve/media/served_media.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/process/spawn.h"
#include "cmd/serve/base/cache_flags.h"
#include "engine/media/llama_media_encoder.h"
#include "http/http_client.h"
#include "media/child/child_media_decoder.h"
#include "media/decode/decode_child.h"

namespace cairn {
namespace {

constexpr const char* kMediaGroup = "Images and audio";

void AddProjectorFlags(CLI::App* serve, MediaOptions* options) {
  constexpr int32_t kTokensMax = std::numeric_limits<int32_t>::max();
  serve
      ->add_option("--mmproj", options->mmproj_path,
                   "GGUF file of the model's projector (-mm), which turns images or audio into "
                   "tokens; without it requests are text only")
      ->group(kMediaGroup);
  serve
      ->add_flag("--mmproj-offload,!--no-mmproj-offload", options->mmproj_offload,
                 "Run the projector on the GPU")
      ->group(kMediaGroup);
  serve
      ->add_option("--image-min-tokens", options->image_tokens_min,
                   "Minimum tokens of an image, for models of variable resolution: smaller images "
                   "are enlarged (default: the model's)")
      ->check(CLI::Range(int32_t{1}, kTokensMax))
      ->group(kMediaGroup);
  serve
      ->add_option("--image-max-tokens", options->image_tokens_max,
                   "Maximum tokens of an image, for models of variable resolution: larger images "
                   "are reduced (default: the model's)")
      ->check(CLI::Range(int32_t{1}, kTokensMax))
      ->group(kMediaGroup);
}

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

void AddMediaFlags(CLI::App* serve, MediaOptions* options) {
  AddProjectorFlags(serve, options);
  serve
      ->add_flag("--allow-media-url", options->allow_url,
                 "Fetch images and audio that requests name by an http or https URL. Then clients "
                 "can make this machine send requests to every address that it reaches")
      ->group(kMediaGroup);
  serve
      ->add_option("--media-path", options->media_path,
                   "Folder whose files requests may name, by file:// URLs or paths relative to it "
                   "(default: none)")
      ->check(CLI::ExistingDirectory)
      ->group(kMediaGroup);
  serve
      ->add_option("--media-file-mib", options->media_file_mib,
                   "Maximum size in MiB of an image or audio file. In a request it is base64, a "
                   "third larger, and --max-body limits the whole request")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024))
      ->group(kMediaGroup);
  serve
      ->add_option("--media-max", options->media_max,
                   "Maximum images and audio files of a request, those of earlier turns included")
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 20))
      ->group(kMediaGroup);
}

Status CheckMediaFlags(const MediaOptions& options) {
  if (options.image_tokens_max > 0 && options.image_tokens_min > options.image_tokens_max) {
    return Fail(ErrorCode::kInvalidArgument,
                "--image-min-tokens " + std::to_string(options.image_tokens_min) +
                    " is more than --image-max-tokens " + std::to_string(options.image_tokens_max) +
                    "; raise the one or lower the other");
  }
  return {};
}

MediaRules MediaRulesOf(const MediaOptions& options) {
  MediaRules rules;
  rules.takes_images = !options.mmproj_path.empty();
  rules.takes_audio = rules.takes_images;
  rules.file_bytes_max = options.media_file_mib << 20U;
  rules.all_bytes_max = std::max(rules.all_bytes_max, rules.file_bytes_max);
  rules.media_max = options.media_max;
  rules.allow_url = options.allow_url;
  rules.media_path = options.media_path;
  if (rules.allow_url) {
    rules.fetch = [](const std::string& url, size_t bytes_max) { return FetchUrl(url, bytes_max); };
  }
  return rules;
}

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
