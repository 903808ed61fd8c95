#include "cmd/serve/adapters/adapter_flags.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>

#include "base/hash.h"
#include "cmd/serve/base/disk_cache.h"
#include "sched/request/adapter_name_space.h"

namespace cairn {
namespace {

// A name on disk for states of a key with these adapters. Without any it is the key's.
uint64_t NameWith(uint64_t key_name, const std::string& digest) {
  if (digest.empty()) return key_name;
  const uint64_t name = Hash64("cairn adapters " + digest, key_name);
  return name == 0 ? 1 : name;  // 0 is the name of no key and no adapters
}

// Reads "FILE:SCALE", as `flag` was given.
Result<LlamaOptions::AdapterFile> ReadScaled(const char* flag, const std::string& word) {
  const size_t colon = word.rfind(':');
  const std::string number = colon == std::string::npos ? "" : word.substr(colon + 1);
  char* end = nullptr;
  const float scale = std::strtof(number.c_str(), &end);
  if (colon == std::string::npos || colon == 0 || number.empty() || *end != '\0' ||
      !std::isfinite(scale)) {
    return Fail(ErrorCode::kInvalidArgument, std::string(flag) + " '" + word +
                                                 "' is not of the form FILE:SCALE, such as "
                                                 "style.gguf:0.5");
  }
  return LlamaOptions::AdapterFile{word.substr(0, colon), scale};
}

void AddControlFlags(CLI::App* serve, AdapterOptions* options) {
  const std::string group = "Model";
  serve
      ->add_option("--control-vector", options->control_files,
                   "GGUF file of a control vector, which is added to the hidden states of the "
                   "model's layers; several are separated by commas, or the flag is repeated")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
  serve
      ->add_option("--control-vector-scaled", options->control_scaled_files,
                   "As --control-vector, with a scale: FILE:SCALE, such as happy.gguf:0.8")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
  serve
      ->add_option("--control-vector-layer-range", options->control_layers,
                   "First and last layer that control vectors act in, such as 10 20 (default: all)")
      ->delimiter(',')
      ->expected(2)
      ->check(CLI::Range(0, 1 << 20))
      ->group(group);
}

}  // namespace

void AddAdapterFlags(CLI::App* serve, AdapterOptions* options) {
  const std::string group = "Model";
  serve
      ->add_option("--lora", options->files,
                   "GGUF file of a LoRA adapter to apply; several are separated by commas, or the "
                   "flag is repeated. A request's `lora` and POST /lora-adapters set other scales; "
                   "each set of scales has a cache of its own")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
  serve
      ->add_option("--lora-scaled", options->scaled_files,
                   "As --lora, with a scale: FILE:SCALE, such as style.gguf:0.5")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(group);
  serve
      ->add_flag("--lora-init-without-apply", options->without_apply,
                 "Load adapters and apply none until a request or POST /lora-adapters says so")
      ->group(group);
  AddControlFlags(serve, options);
}

Result<std::vector<LlamaOptions::AdapterFile>> AdapterFilesOf(const AdapterOptions& options) {
  std::vector<LlamaOptions::AdapterFile> files;
  for (const std::string& path : options.files) files.push_back({path, 1});
  for (const std::string& word : options.scaled_files) {
    auto file = ReadScaled("--lora-scaled", word);
    if (!file) return tl::unexpected(file.error());
    files.push_back(*std::move(file));
  }
  if (options.without_apply) {
    for (LlamaOptions::AdapterFile& file : files) file.scale = 0;
  }
  return files;
}

Result<std::vector<LlamaOptions::ControlFile>> ControlFilesOf(const AdapterOptions& options) {
  std::vector<LlamaOptions::ControlFile> files;
  for (const std::string& path : options.control_files) files.push_back({path, 1});
  for (const std::string& word : options.control_scaled_files) {
    const auto file = ReadScaled("--control-vector-scaled", word);
    if (!file) return tl::unexpected(file.error());
    files.push_back({file->path, file->scale});
  }
  const std::vector<int32_t>& layers = options.control_layers;
  if (layers.empty()) return files;
  if (files.empty()) {
    return Fail(ErrorCode::kInvalidArgument, "--control-vector-layer-range needs --control-vector");
  }
  if (layers.size() == 2 && layers[0] > layers[1]) {
    return Fail(ErrorCode::kInvalidArgument,
                "--control-vector-layer-range " + std::to_string(layers[0]) + " " +
                    std::to_string(layers[1]) + " has no layer; the smaller number comes first");
  }
  return files;
}

void FillAdapters(const AdapterOptions& options, LlamaOptions* llama) {
  llama->adapters = AdapterFilesOf(options).value();
  llama->control_vectors = ControlFilesOf(options).value();
  if (options.control_layers.size() != 2) return;
  llama->control_layer_first = options.control_layers[0];
  llama->control_layer_last = options.control_layers[1];
}

bool AdapterNames::Add(NamespaceId name_space) {
  const MutexLock lock(mutex_);
  return used_.insert(name_space).second;
}

bool AdapterNames::ForgetFreed(const AdapterSets* sets) {
  const MutexLock lock(mutex_);
  if (sets == nullptr || sets->freed() == freed_) return false;
  freed_ = sets->freed();
  std::erase_if(used_, [sets](NamespaceId used) { return !sets->Keeps(AdapterSetOf(used)); });
  return true;
}

std::vector<std::pair<NamespaceId, uint64_t>> AdapterNames::NamesOf(const ApiKeys& keys,
                                                                    const AdapterSets* sets) const {
  std::vector<std::pair<NamespaceId, uint64_t>> names = NameSpacesOf(keys);
  if (sets == nullptr) return names;
  const MutexLock lock(mutex_);
  const size_t count = names.size();
  for (const NamespaceId used : used_) {
    const auto digest = sets->DigestOf(AdapterSetOf(used));
    if (!digest) continue;
    for (size_t i = 0; i < count; ++i) {
      if (names[i].first != OwnerOf(used)) continue;
      names.emplace_back(used, NameWith(names[i].second, *digest));
    }
  }
  const std::string start = *sets->DigestOf(0);  // this set is never freed
  for (size_t i = 0; i < count; ++i) names[i].second = NameWith(names[i].second, start);
  return names;
}

}  // namespace cairn
