#include "cmd/environment_flags.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <set>
#include <string_view>
#include <utility>

#include "cmd/serve/serve.h"

namespace cairn {
namespace {

constexpr std::string_view kPrefix = "LLAMA_ARG_";
constexpr std::string_view kNegatedPrefix = "LLAMA_ARG_NO_";

// A variable of llama-server, and the flag with the same name and meaning.
struct Variable {
  const char* name;
  const char* flag;
};

constexpr std::array kVariables = {
    Variable{"LLAMA_ARG_MODEL", "--model"},
    Variable{"LLAMA_ARG_HF_REPO", "--hf-repo"},
    Variable{"LLAMA_ARG_HF_FILE", "--hf-file"},
    Variable{"LLAMA_ARG_MODEL_URL", "--model-url"},
    Variable{"LLAMA_ARG_OFFLINE", "--offline"},
    Variable{"LLAMA_ARG_N_GPU_LAYERS", "--gpu-layers"},
    Variable{"LLAMA_ARG_SPLIT_MODE", "--split-mode"},
    Variable{"LLAMA_ARG_TENSOR_SPLIT", "--tensor-split"},
    Variable{"LLAMA_ARG_MAIN_GPU", "--main-gpu"},
    Variable{"LLAMA_ARG_RPC", "--rpc"},
    Variable{"LLAMA_ARG_OVERRIDE_TENSOR", "--override-tensor"},
    Variable{"LLAMA_ARG_CPU_MOE", "--cpu-moe"},
    Variable{"LLAMA_ARG_N_CPU_MOE", "--n-cpu-moe"},
    Variable{"LLAMA_ARG_FIT", "--fit"},
    Variable{"LLAMA_ARG_FIT_TARGET", "--fit-target"},
    Variable{"LLAMA_ARG_FIT_CTX", "--fit-ctx"},
    Variable{"LLAMA_ARG_MMAP", "--mmap"},
    Variable{"LLAMA_ARG_MLOCK", "--mlock"},
    Variable{"LLAMA_ARG_REPACK", "--repack"},
    Variable{"LLAMA_ARG_MMPROJ", "--mmproj"},
    Variable{"LLAMA_ARG_MMPROJ_URL", "--mmproj-url"},
    Variable{"LLAMA_ARG_MMPROJ_AUTO", "--mmproj-auto"},
    Variable{"LLAMA_ARG_MMPROJ_OFFLOAD", "--mmproj-offload"},
    Variable{"LLAMA_ARG_IMAGE_MIN_TOKENS", "--image-min-tokens"},
    Variable{"LLAMA_ARG_IMAGE_MAX_TOKENS", "--image-max-tokens"},
    Variable{"LLAMA_ARG_CTX_SIZE", "--ctx-size"},
    Variable{"LLAMA_ARG_N_PARALLEL", "--parallel"},
    Variable{"LLAMA_ARG_BATCH", "--batch-size"},
    Variable{"LLAMA_ARG_UBATCH", "--ubatch-size"},
    Variable{"LLAMA_ARG_THREADS", "--threads"},
    Variable{"LLAMA_ARG_FLASH_ATTN", "--flash-attn"},
    Variable{"LLAMA_ARG_CACHE_TYPE_K", "--cache-type-k"},
    Variable{"LLAMA_ARG_CACHE_TYPE_V", "--cache-type-v"},
    Variable{"LLAMA_ARG_KV_OFFLOAD", "--kv-offload"},
    Variable{"LLAMA_ARG_KV_UNIFIED", "--kv-unified"},
    Variable{"LLAMA_ARG_SWA_FULL", "--swa-full"},
    Variable{"LLAMA_ARG_ROPE_SCALING_TYPE", "--rope-scaling"},
    Variable{"LLAMA_ARG_ROPE_SCALE", "--rope-scale"},
    Variable{"LLAMA_ARG_ROPE_FREQ_BASE", "--rope-freq-base"},
    Variable{"LLAMA_ARG_ROPE_FREQ_SCALE", "--rope-freq-scale"},
    Variable{"LLAMA_ARG_YARN_ORIG_CTX", "--yarn-orig-ctx"},
    Variable{"LLAMA_ARG_YARN_EXT_FACTOR", "--yarn-ext-factor"},
    Variable{"LLAMA_ARG_YARN_ATTN_FACTOR", "--yarn-attn-factor"},
    Variable{"LLAMA_ARG_YARN_BETA_SLOW", "--yarn-beta-slow"},
    Variable{"LLAMA_ARG_YARN_BETA_FAST", "--yarn-beta-fast"},
    Variable{"LLAMA_ARG_CONTEXT_SHIFT", "--context-shift"},
    Variable{"LLAMA_ARG_SPEC_TYPE", "--spec-type"},
    Variable{"LLAMA_ARG_SPEC_DRAFT_N_MAX", "--spec-draft-n-max"},
    Variable{"LLAMA_ARG_SPEC_DRAFT_N_MIN", "--spec-draft-n-min"},
    Variable{"LLAMA_ARG_SPEC_DRAFT_P_MIN", "--spec-draft-p-min"},
    Variable{"LLAMA_ARG_SPEC_DRAFT_MODEL", "--spec-draft-model"},
    Variable{"LLAMA_ARG_SPEC_DRAFT_HF_REPO", "--spec-draft-hf"},
    Variable{"LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_K", "--spec-draft-type-k"},
    Variable{"LLAMA_ARG_SPEC_DRAFT_CACHE_TYPE_V", "--spec-draft-type-v"},
    Variable{"LLAMA_ARG_N_GPU_LAYERS_DRAFT", "--spec-draft-ngl"},
    Variable{"LLAMA_ARG_CTX_CHECKPOINTS", "--ctx-checkpoints"},
    Variable{"LLAMA_ARG_CHECKPOINT_EVERY_NT", "--checkpoint-every-nt"},
    Variable{"LLAMA_ARG_CHECKPOINT_MIN_SPACING_NT", "--checkpoint-min-step"},
    Variable{"LLAMA_ARG_CACHE_RAM", "--cache-ram"},
    Variable{"LLAMA_ARG_CACHE_IDLE_SLOTS", "--cache-idle-slots"},
    Variable{"LLAMA_ARG_CACHE_REUSE", "--cache-reuse"},
    Variable{"LLAMA_ARG_SLOT_SAVE_PATH", "--slot-save-path"},
    Variable{"LLAMA_ARG_HOST", "--host"},
    Variable{"LLAMA_ARG_PORT", "--port"},
    Variable{"LLAMA_ARG_API_KEY_FILE", "--api-key-file"},
    Variable{"LLAMA_ARG_SSL_KEY_FILE", "--ssl-key-file"},
    Variable{"LLAMA_ARG_SSL_CERT_FILE", "--ssl-cert-file"},
    Variable{"LLAMA_ARG_MODELS_DIR", "--models-dir"},
    Variable{"LLAMA_ARG_MODELS_PRESET", "--models-preset"},
    Variable{"LLAMA_ARG_MODELS_MAX", "--models-max"},
    Variable{"LLAMA_ARG_MODELS_AUTOLOAD", "--models-autoload"},
    Variable{"LLAMA_ARG_SSE_PING_INTERVAL", "--sse-ping-interval"},
    Variable{"LLAMA_ARG_ALIAS", "--alias"},
    Variable{"LLAMA_ARG_TAGS", "--tags"},
    Variable{"LLAMA_ARG_API_PREFIX", "--api-prefix"},
    Variable{"LLAMA_ARG_CHAT_TEMPLATE", "--chat-template"},
    Variable{"LLAMA_ARG_CHAT_TEMPLATE_FILE", "--chat-template-file"},
    Variable{"LLAMA_ARG_CHAT_TEMPLATE_KWARGS", "--chat-template-kwargs"},
    Variable{"LLAMA_ARG_REASONING_EFFORT", "--reasoning-effort"},
    Variable{"LLAMA_ARG_THINK_BUDGET", "--reasoning-budget"},
    Variable{"LLAMA_ARG_THINK_BUDGET_MESSAGE", "--reasoning-budget-message"},
    Variable{"LLAMA_ARG_PREFILL_ASSISTANT", "--prefill-assistant"},
    Variable{"LLAMA_ARG_EMBEDDINGS", "--embeddings"},
    Variable{"LLAMA_ARG_RERANKING", "--reranking"},
    Variable{"LLAMA_ARG_POOLING", "--pooling"},
    Variable{"LLAMA_ARG_N_PREDICT", "--predict"},
    Variable{"LLAMA_ARG_TEMPERATURE", "--temp"},
    Variable{"LLAMA_ARG_TOP_K", "--top-k"},
    Variable{"LLAMA_ARG_TOP_P", "--top-p"},
    Variable{"LLAMA_ARG_MIN_P", "--min-p"},
    Variable{"LLAMA_ARG_REPEAT_PENALTY", "--repeat-penalty"},
    Variable{"LLAMA_ARG_PRESENCE_PENALTY", "--presence-penalty"},
    Variable{"LLAMA_ARG_FREQUENCY_PENALTY", "--frequency-penalty"},
};

bool IsOneOf(const std::string& value, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), value) != words.end();
}

bool IsFlag(const CLI::Option& option) {
  return option.get_items_expected_max() == 0 || !option.get_fnames().empty();
}

// Returns the options of `serve` that the command line names, as far as its words show.
std::set<const CLI::Option*> NamedOptions(const CLI::App& serve,
                                          const std::vector<std::string>& arguments) {
  std::set<const CLI::Option*> named;
  for (const std::string& argument : arguments) {
    if (!argument.starts_with('-') || argument.size() < 2) continue;
    const bool is_long = argument.starts_with("--");
    const std::string name =
        is_long ? argument.substr(0, argument.find('=')) : argument.substr(0, 2);
    const CLI::Option* option = serve.get_option_no_throw(name);
    if (option != nullptr) named.insert(option);
  }
  return named;
}

// A variable and the arguments that it stands for.
struct Given {
  std::string name;  // the value as found
  std::string flag;
  std::string value;
};

Result<std::vector<std::string>> ArgumentsOf(const Given& given, const CLI::Option& option) {
  if (!IsFlag(option)) return std::vector<std::string>{given.flag + "=" + given.value};
  if (IsOneOf(given.value, {"1", "true", "on", "enabled"})) {
    return std::vector<std::string>{given.flag + "=true"};
  }
  if (IsOneOf(given.value, {"0", "false", "off", "disabled"})) {
    return std::vector<std::string>{given.flag + "=false"};
  }
  return Fail(ErrorCode::kInvalidArgument,
              "environment variable " + given.name + " has the value '" + given.value +
                  "'; expected 1, true, on or enabled, or 0, false, off or disabled");
}

// Parses the arguments of one variable separately, so that an error can name it.
Status Try(const Given& given, std::vector<std::string> arguments) {
  CLI::App app;
  ServeOptions options;
  AddServe(&app, &options);
  arguments.insert(arguments.begin(), "serve");
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& error) {
    return Fail(ErrorCode::kInvalidArgument, "environment variable " + given.name + ", which is " +
                                                 given.flag + ": " + error.what());
  }
  return {};
}

}  // namespace

Environment ProcessEnvironment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string text(*entry);
    const size_t equals = text.find('=');
    if (equals != std::string::npos)
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

void NameEnvironmentFlags(CLI::App* serve) {
  for (const Variable& variable : kVariables) {
    if (CLI::Option* option = serve->get_option_no_throw(variable.flag)) {
      option->envname(variable.name);
    }
  }
}

std::string EnvironmentNote(const CLI::Option& option) {
  return option.get_envname().empty() ? "" : ", env: " + option.get_envname();
}

Result<EnvironmentArguments> ReadEnvironmentFlags(const Environment& environment,
                                                  const std::vector<std::string>& arguments) {
  EnvironmentArguments read;
  const auto is_help = [](const std::string& one) { return one == "--help" || one == "-h"; };
  const bool serves = !arguments.empty() && arguments.front() == "serve" &&
                      std::none_of(arguments.begin(), arguments.end(), is_help);
  if (!serves) return read;
  CLI::App app;
  ServeOptions options;
  const CLI::App* serve = AddServe(&app, &options);
  const std::set<const CLI::Option*> named = NamedOptions(*serve, arguments);
  for (auto at = environment.lower_bound(std::string(kPrefix)); at != environment.end(); ++at) {
    if (!at->first.starts_with(kPrefix)) break;
    Given given{at->first, "", at->second};
    const auto has_name = [&](const std::string& name) {
      return std::find_if(kVariables.begin(), kVariables.end(),
                          [&](const Variable& one) { return one.name == name; });
    };
    const auto* known = has_name(given.name);
    if (known == kVariables.end() && given.name.starts_with(kNegatedPrefix)) {
      known = has_name(std::string(kPrefix) + given.name.substr(kNegatedPrefix.size()));
      if (!given.value.empty()) given.value = "0";
    }
    const CLI::Option* option =
        known == kVariables.end() ? nullptr : serve->get_option_no_throw(known->flag);
    if (option == nullptr) {
      read.unknown.push_back(given.name);
      continue;
    }
    if (given.value.empty() || named.contains(option)) continue;
    given.flag = known->flag;
    auto more = ArgumentsOf(given, *option);
    if (!more) return tl::unexpected(more.error());
    if (Status tried = Try(given, *more); !tried) return tl::unexpected(tried.error());
    read.arguments.insert(read.arguments.end(), more->begin(), more->end());
  }
  return read;
}

}  // namespace cairn
