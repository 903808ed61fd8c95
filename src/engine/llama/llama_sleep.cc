// Unloading the model while nobody asks anything of it, and loading it again.
//
// Other threads use the vocabulary all the time, and libllama keeps it inside the model. So an
// engine that may sleep loads the vocabulary twice, and everybody uses the one that stays.

#include <llama.h>

#include <new>
#include <utility>

#include "base/check.h"
#include "engine/llama/llama_engine.h"
#include "engine/llama/llama_log.h"

namespace cairn {
namespace {

constexpr SeqId kProbeSeq = 0;

}  // namespace

Result<LlamaModelPtr> LlamaEngine::LoadVocabulary(const LlamaOptions& options) {
  const LlamaErrorListener errors(options.log);
  llama_model_params params = llama_model_default_params();
  params.vocab_only = true;
  LlamaModelPtr model(llama_model_load_from_file(options.model_path.c_str(), params));
  if (model) return model;
  return Fail(ErrorCode::kInvalidArgument, "libllama cannot load the vocabulary of '" +
                                               options.model_path + "' by itself" +
                                               errors.Because());
}

Status LlamaEngine::Sleep() {
  CHECK(context_ != nullptr);
  if (vocabulary_ == nullptr) {
    return Fail(ErrorCode::kUnsupported, "the model was loaded to stay");
  }
  context_.reset();
  model_.reset();
  window_cells_.clear();
  window_bytes_ = {};
  return {};
}

Status LlamaEngine::Wake() {
  CHECK(context_ == nullptr && vocabulary_ != nullptr);
  const auto load = [this]() -> Result<Parts> {
    try {
      return LoadParts(options_);
    } catch (const std::bad_alloc&) {
      return Fail(ErrorCode::kUnavailable, "there is no memory for the model");
    }
  };
  auto parts = load();
  if (!parts) return tl::unexpected(parts.error());
  model_ = std::move(parts->model);
  context_ = std::move(parts->context);
  digest_.reset();  // it may be another file now
  Status same = ProveTheSame();
  if (!same) {
    context_.reset();
    model_.reset();
  }
  return same;
}

Status LlamaEngine::ProveTheSame() {
  if (llama_n_ctx(context()) != context_cells_ || llama_n_ubatch(context()) != chunk_tokens_max_) {
    return Fail(ErrorCode::kUnavailable, "the model's context is of another size than before");
  }
  const Tokens tokens = ProbeTokens();
  const TokenSpan few = TokenSpan(tokens).first(kFewTokens);
  if (Status read = Decode(kProbeSeq, 0, few); !read) return read;
  if (Status read = Decode(kProbeSeq, kFewTokens, TokenSpan(tokens).subspan(kFewTokens)); !read) {
    return read;
  }
  const uint64_t bits = HashOfLogits();
  Clear(kProbeSeq);
  if (Status proven = ProveBits(tokens, bits); !proven) return proven;
  llama_memory_clear(llama_get_memory(context()), true);
  const auto identity = StateIdentity();
  if (!identity) return tl::unexpected(identity.error());
  if (*identity == identity_) return {};
  return Fail(ErrorCode::kUnavailable,
              "'" + info_.path +
                  "' or what computes it has changed since it was first loaded; "
                  "start the server anew");
}

}  // namespace cairn
