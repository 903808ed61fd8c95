#include "engine/media/llama_projector.h"

#include <gguf.h>

#include <exception>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "engine/llama/backend/llama_log.h"
#include "engine/llama/gguf/gguf_files.h"
#include "engine/llama/gguf/llama_digest.h"
#include "engine/media/llama_mtmd_calls.h"

namespace cairn {
namespace {

std::string QuotedPath(const std::string& path) {
  return "'" + path + "'";
}

Status CheckLimits(const MediaEncoderOptions& options) {
  const int32_t least = options.image_min_tokens;
  const int32_t most = options.image_max_tokens;
  if (least <= 0 || most <= 0 || least <= most) return {};
  return Fail(ErrorCode::kInvalidArgument, "an image cannot have at least " +
                                               std::to_string(least) + " and at most " +
                                               std::to_string(most) + " tokens");
}

// Refuses files that are no projectors, in clearer words than libmtmd has for them.
Status CheckProjectorFile(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) {
    return Fail(ErrorCode::kNotFound, "there is no projector file " + QuotedPath(path));
  }
  const std::unique_ptr<gguf_context, GgufDeleter> gguf(
      gguf_init_from_file(path.c_str(), {/*no_alloc=*/true, /*ctx=*/nullptr}));
  if (gguf == nullptr) {
    return Fail(ErrorCode::kCorrupt,
                "the projector file " + QuotedPath(path) + " cannot be read as a GGUF");
  }
  const int64_t key = gguf_find_key(gguf.get(), "general.architecture");
  const bool is_text = key >= 0 && gguf_get_kv_type(gguf.get(), key) == GGUF_TYPE_STRING;
  const std::string architecture = is_text ? gguf_get_val_str(gguf.get(), key) : "";
  if (architecture == "clip") return {};
  return Fail(ErrorCode::kUnsupported,
              QuotedPath(path) + " is no projector (mmproj), but a file of the architecture '" +
                  architecture + "'");
}

Result<std::string> ProjectorDigest(const std::string& path) {
  auto digest = DigestModel(path);
  if (digest) return std::move(digest->text);
  // Its words are those for models.
  return Fail(digest.error().code, "the projector file " + QuotedPath(path) +
                                       " ends before its table of tensors says, or cannot be read");
}

// libmtmd has a log of its own. It gets libllama's callback, so its lines go to the same sink.
void SendLogWithLlamas() {
  ggml_log_callback callback = nullptr;
  void* user_data = nullptr;
  llama_log_get(&callback, &user_data);
  mtmd_log_set(callback, user_data);
}

// Loads the metadata and vocabulary of a model: libmtmd asks for nothing else of it.
LlamaModelPtr LoadFrame(const std::string& path) {
  ggml_backend_dev_t no_devices[] = {nullptr};
  llama_model_params params = llama_model_default_params();
  params.devices = no_devices;
  params.n_gpu_layers = 0;
  params.load_mode = LLAMA_LOAD_MODE_NONE;
  params.no_alloc = true;
  return LlamaModelPtr(llama_model_load_from_file(path.c_str(), params));
}

mtmd_context_params ParamsOf(const MediaEncoderOptions& options, int32_t threads) {
  mtmd_context_params params = mtmd_context_params_default();
  params.use_gpu = options.offload;
  params.print_timings = false;
  params.n_threads = threads;
  // Makes the graph of the largest image and reserves its memory: what fails, fails now.
  params.warmup = true;
  if (options.image_min_tokens > 0) params.image_min_tokens = options.image_min_tokens;
  if (options.image_max_tokens > 0) params.image_max_tokens = options.image_max_tokens;
  return params;
}

int32_t ThreadsOf(const MediaEncoderOptions& options) {
  if (options.threads > 0) return options.threads;
  const unsigned cores = std::thread::hardware_concurrency();
  return cores > 0 ? static_cast<int32_t>(cores) : 4;
}

// Returns the reason in libmtmd's words, without the function that says it.
std::string WithoutFunction(std::string because) {
  constexpr std::string_view kMark = " error: ";
  const size_t at = because.find(kMark);
  if (at == std::string::npos) return because;
  return ": " + because.substr(at + kMark.size());
}

}  // namespace

Result<LlamaProjector> LoadProjector(const MediaEncoderOptions& options,
                                     const std::string& model_path, const llama_model* model) {
  if (Status status = CheckLimits(options); !status) return tl::unexpected(status.error());
  if (Status status = CheckProjectorFile(options.projector_path); !status) {
    return tl::unexpected(status.error());
  }
  auto digest = ProjectorDigest(options.projector_path);
  if (!digest) return tl::unexpected(digest.error());

  LlamaProjector projector;
  projector.digest = std::move(*digest);
  projector.threads = ThreadsOf(options);
  const LlamaErrorListener errors(options.log);
  SendLogWithLlamas();
  std::string reason;
  try {
    if (options.may_sleep) {
      projector.frame = LoadFrame(model_path);
      model = projector.frame.get();
    }
    if (model != nullptr) {
      projector.context.reset(CallWithDefaults(mtmd_init_from_file, options.projector_path.c_str(),
                                               model, ParamsOf(options, projector.threads)));
    }
    if (projector.context != nullptr) return projector;
    reason = WithoutFunction(errors.Because());
  } catch (const std::exception& e) {
    reason = std::string(": ") + e.what();
  }
  return Fail(ErrorCode::kUnsupported, "libmtmd cannot load the projector " +
                                           QuotedPath(options.projector_path) + " for this model" +
                                           reason);
}

}  // namespace cairn
