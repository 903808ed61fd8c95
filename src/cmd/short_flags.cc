#include "cmd/short_flags.h"

#include <array>
#include <string_view>

namespace cairn {
namespace {

struct ShortFlag {
  std::string_view short_form;
  std::string_view long_form;
};

constexpr std::array<ShortFlag, 42> kShortFlags{{
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
}};

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

}  // namespace cairn
