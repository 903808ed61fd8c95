// CodecFigures: what each codec makes of a model's states: how many bytes, in what time, and how
// far the logits of the tokens after it move when a conversation comes back through it.
//
// Threads: the one that owns the engine's context.

#ifndef CAIRN_CMD_CODEC_FIGURES_H_
#define CAIRN_CMD_CODEC_FIGURES_H_

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/engine.h"
#include "store/object.h"

namespace cairn {

// Of one object under one codec.
struct CodedObject {
  std::string kind;  // "snapshot", "segment" or "whole"
  Codec used = Codec::kRaw;
  size_t raw_bytes = 0;
  size_t stored_bytes = 0;
  // The fastest of a few runs, in MiB of raw bytes a second.
  double encode_mib_s = 0;
  double decode_mib_s = 0;
};

// How logits differ from those of the run that was never interrupted.
struct LogitDrift {
  size_t tokens = 0;
  size_t flips = 0;      // tokens of which another would have been the likeliest
  double delta_max = 0;  // of any logit
  double kl_mean = 0;    // Kullback-Leibler divergence from the uninterrupted run, in nats
  double kl_max = 0;
};

struct CodecFigures {
  Codec codec = Codec::kRaw;
  std::vector<CodedObject> objects;
  LogitDrift drift;
};

struct CodecTrial {
  std::string prompt;  // read up to the last grid position in `prompt_tokens_max`
  size_t prompt_tokens_max = 0;
  size_t tokens = 0;  // decoded afterwards, one by one: the uninterrupted run's likeliest
  std::function<void(float share)> progress;  // may be empty
};

struct CodecTrialResult {
  size_t position = 0;         // where the conversation was interrupted
  bool floats_proven = false;  // else nothing is touched by lossy codecs
  std::string why_not;
  std::vector<CodecFigures> codecs;
};

// Tries every codec. REQUIRES: no sequence of `engine` holds anything, and its context has room for
// `prompt_tokens_max` + `tokens`. kInvalidArgument: the prompt is shorter than a grid step.
// kUnsupported: the model's memory cannot be set back.
Result<CodecTrialResult> TryCodecs(Engine* engine, const CodecTrial& trial, const Clock& clock);

// Adds what one token's logits show. REQUIRES: of one size.
void AddDrift(std::span<const float> expected, std::span<const float> seen, LogitDrift* drift);

}  // namespace cairn

#endif  // CAIRN_CMD_CODEC_FIGURES_H_
