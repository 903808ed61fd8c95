#include "engine/llama/model/loaded_model.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/llama/backend/llama_log.h"
#include "engine/llama/gguf/model_metadata.h"
#include "engine/llama/model/control_vector.h"
#include "engine/llama/model/llama_params.h"

namespace cairn {
namespace {

// libllama would only log these faults.
Status CheckModelFile(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return Fail(ErrorCode::kNotFound, "there is no model file '" + path + "'");
  }
  if (std::filesystem::is_directory(path, error)) {
    return Fail(ErrorCode::kInvalidArgument,
                "'" + path + "' is a folder; --model takes a GGUF file");
  }
  std::ifstream file(path, std::ios::binary);
  std::array<char, 4> magic{};
  if (!file.read(magic.data(), magic.size())) {
    return Fail(ErrorCode::kInvalidArgument, "the model file '" + path + "' cannot be read");
  }
  if (std::string_view(magic.data(), magic.size()) != "GGUF") {
    return Fail(ErrorCode::kInvalidArgument,
                "'" + path + "' is not a GGUF file: it does not begin with GGUF");
  }
  return {};
}

// Where positions are learned, libllama aborts on one that was not. Such models have no rotation,
// but libllama names one for BERT.
bool HasLearnedPositions(const llama_model* model) {
  if (ArchitectureOf(model) == "bert") return true;
  return !llama_model_is_recurrent(model) && !llama_model_is_hybrid(model) &&
         llama_model_rope_type(model) == LLAMA_ROPE_TYPE_NONE;
}

Status CheckKind(const LlamaOptions& options, const llama_model* model, ModelKinds kinds) {
  if (IsEncoder(ArchitectureOf(model))) {
    if (kinds == ModelKinds::kAll) return {};
    return Fail(ErrorCode::kUnsupported, "'" + options.model_path +
                                             "' is an encoder: it computes vectors of texts and "
                                             "writes none; `cairn serve` serves it for embeddings");
  }
  if (llama_model_has_decoder(model) && !llama_model_has_encoder(model) &&
      !llama_model_is_diffusion(model)) {
    return {};
  }
  return Fail(ErrorCode::kUnsupported,
              "'" + options.model_path + "' is no model that answers token by token");
}

// An encoder keeps no memory of a text, so slots would have nothing to hold.
LlamaOptions OptionsFor(const llama_model* model, LlamaOptions options) {
  if (!IsEncoder(ArchitectureOf(model))) return options;
  options.slots = 1;
  options.unified = true;
  options.rollback_states = 0;
  return options;
}

// Loads the adapters of the options, which libllama frees with the model.
Result<std::vector<llama_adapter_lora*>> LoadAdapters(const LlamaOptions& options,
                                                      llama_model* model,
                                                      const LlamaErrorListener& errors) {
  std::vector<llama_adapter_lora*> adapters;
  for (const LlamaOptions::AdapterFile& file : options.adapters) {
    llama_adapter_lora* const adapter = llama_adapter_lora_init(model, file.path.c_str());
    if (adapter == nullptr) {
      return Fail(ErrorCode::kInvalidArgument, "libllama cannot load the LoRA adapter '" +
                                                   file.path + "' for this model" +
                                                   errors.Because());
    }
    if (llama_adapter_get_alora_n_invocation_tokens(adapter) > 0) {
      return Fail(ErrorCode::kUnsupported,
                  "'" + file.path +
                      "' is an activated LoRA, which applies behind certain tokens "
                      "only; adapters that apply to all tokens are supported");
    }
    adapters.push_back(adapter);
  }
  return adapters;
}

void SayWithoutHeads(const LlamaOptions& options, const std::string& why) {
  if (!options.note_sink()) return;
  options.note_sink()(LogLevel::kWarning, "no drafts by multi-token prediction: " + why);
}

// Loads the model; with its heads if they are asked for and libllama takes them.
LlamaModelPtr LoadWeights(const LlamaOptions& options, LlamaModelParams* params) {
  const auto load = [&] {
    return LlamaModelPtr(llama_model_load_from_file(options.model_path.c_str(), params->params));
  };
  if (options.mtp == LlamaOptions::Mtp::kOff) return load();
  const bool only_tried = options.mtp == LlamaOptions::Mtp::kIfTried;
  if (const Status usable = CheckMtpHeads(options.model_path, only_tried); !usable) {
    const bool has_none = usable.error().code == ErrorCode::kNotFound;
    if (!has_none || !only_tried) SayWithoutHeads(options, usable.error().message);
    return load();
  }
  params->params.load_mtp = true;
  if (LlamaModelPtr model = load()) return model;
  params->params.load_mtp = false;
  LlamaModelPtr model = load();
  if (model) SayWithoutHeads(options, "libllama loads the model, but not with its heads");
  return model;
}

}  // namespace

Result<LoadedModel> LoadedModel::Load(const LlamaOptions& asked, ModelKinds kinds) {
  if (Status usable = CheckModelFile(asked.model_path); !usable)
    return tl::unexpected(usable.error());
  const auto places = std::make_shared<LayerPlaces>();
  // A thread that logs may still hold the sink after this call, so it shares the places.
  const LlamaErrorListener errors(asked.log,
                                  [places](std::string_view line) { places->Hear(line); });

  LlamaModelParams model_params;
  if (Status filled = FillModelParams(asked, &model_params); !filled) {
    return tl::unexpected(filled.error());
  }
  LlamaModelPtr model = LoadWeights(asked, &model_params);
  if (!model) {
    return Fail(ErrorCode::kInvalidArgument,
                "libllama cannot load '" + asked.model_path + "'" + errors.Because());
  }
  if (Status right = CheckKind(asked, model.get(), kinds); !right)
    return tl::unexpected(right.error());
  const LlamaOptions options = OptionsFor(model.get(), asked);
  const auto context_params = MakeContextParams(options, model.get());
  if (!context_params) return tl::unexpected(context_params.error());
  // Before the context, which makes room in its graph for them.
  auto adapters = LoadAdapters(options, model.get(), errors);
  if (!adapters) return tl::unexpected(adapters.error());
  const auto control = ReadControlVectors(options.control_vectors);
  if (!control) return tl::unexpected(control.error());
  LlamaContextPtr context(llama_init_from_model(model.get(), *context_params));
  if (!context) {
    return Fail(ErrorCode::kNoSpace,
                "libllama cannot make a context of " + std::to_string(context_params->n_ctx) +
                    " tokens" + errors.Because() + "; a smaller --ctx-size needs less memory");
  }
  if (Status applied = ApplyControlVector(*control, options, model.get(), context.get());
      !applied) {
    return tl::unexpected(applied.error());
  }
  // Encoders are known by name, because libllama aborts on what such a context cannot do.
  if (llama_get_memory(context.get()) == nullptr && !IsEncoder(ArchitectureOf(model.get()))) {
    return Fail(
        ErrorCode::kUnsupported,
        "'" + options.model_path + "' keeps no memory of a text, so it cannot continue one");
  }
  LoadedModel loaded(std::move(model), std::move(context), places, options);
  if (model_params.params.load_mtp) loaded.AddHeads(options, *context_params);
  loaded.adapters_ = *std::move(adapters);
  loaded.control_fact_ = ControlVectorFact(*control, options);
  return loaded;
}

LoadedModel::LoadedModel(LlamaModelPtr model, LlamaContextPtr context,
                         std::shared_ptr<const LayerPlaces> layer_places,
                         const LlamaOptions& options)
    : model_(std::move(model)),
      context_(std::move(context)),
      layer_places_(std::move(layer_places)),
      slots_(options.slots),
      unified_(options.unified),
      context_cells_(llama_n_ctx(context_.get())),
      context_tokens_(llama_n_ctx_seq(context_.get())),
      ubatch_tokens_(llama_n_ubatch(context_.get())) {
  if (!HasLearnedPositions(model_.get())) return;
  const size_t trained = static_cast<uint32_t>(llama_model_n_ctx_train(model_.get()));
  context_tokens_ = std::min(context_tokens_, trained);
}

void LoadedModel::AddHeads(const LlamaOptions& options, const llama_context_params& params) {
  auto heads = MakeMtpContext(model_.get(), context_.get(), params, slots_);
  if (heads) {
    heads_ = std::move(*heads);
  } else {
    SayWithoutHeads(options, heads.error().message);
  }
}

llama_context* LoadedModel::context() const {
  CHECK(context_ != nullptr);  // it is unloaded
  return context_.get();
}

void LoadedModel::Unload() {
  heads_ = {};
  context_.reset();
  adapters_.clear();
  model_.reset();
}

size_t LoadedModel::SequenceEnd(SeqId seq) const {
  const llama_pos last = llama_memory_seq_pos_max(memory(), seq);
  const size_t positions = static_cast<size_t>(last) + 1;  // -1: it is empty
  return media_positions_->TokensAt(seq, positions);
}

}  // namespace cairn
