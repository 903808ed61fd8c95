#include "cmd/short_flags.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace cairn {
namespace {

struct ShortFlag {
  std::string_view short_form;
  std::string_view long_form;
};

constexpr std::array<ShortFlag, 44> kShortFlags{{
    {"-hf", "--hf-repo"},
    {"-hfr", "--hf-repo"},
    {"-hff", "--hf-file"},
    {"-hft", "--hf-token"},
    {"-mu", "--model-url"},
    {"-ngl", "--gpu-layers"},
    {"-fa", "--flash-attn"},
    {"-ctk", "--cache-type-k"},
    {"-ctv", "--cache-type-v"},
    {"-ot", "--override-tensor"},
    {"-ncmoe", "--n-cpu-moe"},
    {"-cmoe", "--cpu-moe"},
    {"-sm", "--split-mode"},
    {"-ts", "--tensor-split"},
    {"-mg", "--main-gpu"},
    {"-fit", "--fit"},
    {"-fitt", "--fit-target"},
    {"-fitc", "--fit-ctx"},
    {"-np", "--parallel"},
    {"-ub", "--ubatch-size"},
    {"-tb", "--threads-batch"},
    {"-nkvo", "--no-kv-offload"},
    {"-kvu", "--kv-unified"},
    {"-no-kvu", "--no-kv-unified"},
    {"-nr", "--no-repack"},
    {"-cram", "--cache-ram"},
    {"-cms", "--checkpoint-min-step"},
    {"-cpent", "--checkpoint-every-nt"},
    {"-ctxcp", "--ctx-checkpoints"},
    {"-jf", "--json-schema-file"},
    {"-md", "--spec-draft-model"},
    {"-ngld", "--spec-draft-ngl"},
    {"-td", "--spec-draft-threads"},
    {"-ctkd", "--spec-draft-type-k"},
    {"-ctvd", "--spec-draft-type-v"},
    {"-mm", "--mmproj"},
    {"-mmu", "--mmproj-url"},
    {"-hfd", "--spec-draft-hf"},
    {"-hfrd", "--spec-draft-hf"},
    {"--hf-repo-draft", "--spec-draft-hf"},
    {"--n-gpu-layers", "--gpu-layers"},
    {"--n-predict", "--predict"},
    {"--temperature", "--temp"},
    {"--n-gpu-layers-draft", "--spec-draft-ngl"},
}};

constexpr std::array<std::string_view, 6> kAlwaysSo = {"jinja", "metrics",       "slots",
                                                       "props", "cont-batching", "warmup"};

}  // namespace

std::vector<std::string> SpellOutShortFlags(std::vector<std::string> arguments) {
  for (std::string& argument : arguments) {
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    for (const ShortFlag& flag : kShortFlags) {
      if (name != flag.short_form) continue;
      argument.replace(0, name.size(), flag.long_form);
      break;
    }
  }
  return arguments;
}

std::vector<std::string> LongFormsOfOthers() {
  std::vector<std::string> names;
  for (const ShortFlag& flag : kShortFlags) {
    if (flag.short_form.starts_with("--")) names.emplace_back(flag.short_form);
  }
  return names;
}

bool IsAlwaysSo(std::string_view name) {
  return std::find(kAlwaysSo.begin(), kAlwaysSo.end(), name) != kAlwaysSo.end();
}

}  // namespace cairn
