// LlamaMediaEncoder: a MediaEncoder on libmtmd, llama.cpp's library for media, with the projector
// ("mmproj") that belongs to an engine's text model.
//
// No code of ours but llama_media_encoder.cc and llama_projector.cc uses libmtmd, because its
// interface is experimental and changes often (docs/decisions/0034-media-on-libmtmd.md).
//
// libmtmd refuses most broken files with an error. It ends the process where the tensors of a file
// are complete but contradict its metadata, such as a bias that the kind never has: its checks of
// graphs are assertions, and nothing can catch them. They run at load, not at the first medium.

#ifndef CAIRN_ENGINE_MEDIA_LLAMA_MEDIA_ENCODER_H_
#define CAIRN_ENGINE_MEDIA_LLAMA_MEDIA_ENCODER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "engine/llama/llama_engine.h"
#include "media/media_encoder.h"

namespace cairn {

struct MediaEncoderOptions {
  std::string projector_path;
  bool offload = true;  // computes on a GPU, if there is one
  // Rows of an image, of projectors that take images of any size. -1: the projector's setting.
  int32_t image_min_tokens = -1;
  int32_t image_max_tokens = -1;
  int32_t threads = -1;  // negative: one per core
  // As in LlamaOptions: the engine may unload its model. Costs the memory of a second vocabulary,
  // which Layout uses meanwhile.
  bool may_sleep = false;
  LogSink log;  // becomes the process's only sink of libllama's and libmtmd's log
};

class LlamaMediaEncoder final : public MediaEncoder {
 public:
  // `engine`: a loaded one, which must outlive the encoder. Unless `may_sleep`, its model must stay
  // loaded.
  //
  // kInvalidArgument: the limits of an image's rows contradict each other.
  // kNotFound: there is no such file.
  // kCorrupt: the file is no GGUF, or was cut off.
  // kUnsupported: the file is no projector, or none for this model; the message names both
  //   embedding sizes if that is the reason, and the reason in libmtmd's words otherwise.
  static Result<std::unique_ptr<LlamaMediaEncoder>> Load(const MediaEncoderOptions& options,
                                                         const LlamaEngine& engine);
  ~LlamaMediaEncoder() override;

  bool takes_images() const override;
  bool takes_audio() const override;
  uint32_t sample_rate() const override;
  // A line `name=value` for each fact: the file's digest, the limits of an image's rows, threads,
  // libraries and their settings. The devices are facts of the engine (StateIdentity).
  std::string Identity() const override { return identity_; }
  // Also while the engine sleeps, with `may_sleep`. kUnsupported if the projector asks for a token
  // that the model's vocabulary lacks.
  Result<MediumLayout> Layout(const DecodedMedium& medium) const override;
  // Also while the engine sleeps. kInternal if the projector computes no finite numbers.
  Result<std::vector<EncodedPiece>> Encode(const DecodedMedium& medium) override;

 private:
  struct Parts;

  LlamaMediaEncoder(std::unique_ptr<Parts> parts, std::string identity);

  const std::unique_ptr<Parts> parts_;
  const std::string identity_;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_MEDIA_LLAMA_MEDIA_ENCODER_H_
