#include "engine/llama/heads/mtp_functions.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "base/text.h"

namespace cairn {
namespace {

constexpr std::array<std::string_view, 2> kVersions = {"0.7", "0.8"};

// void llama_set_embeddings_nextn(llama_context*, bool, bool)
constexpr const char* kKeepRows = "_Z26llama_set_embeddings_nextnP13llama_contextbb";
// float* llama_get_embeddings_nextn_ith(llama_context*, int32_t)
constexpr const char* kRow = "_Z30llama_get_embeddings_nextn_ithP13llama_contexti";

// The functions of llama.h, if it declares them. A template, so that the calls compile either way:
// the names are looked up where `Context` is known.
template <typename Context>
std::optional<MtpFunctions> Declared() {
  if constexpr (requires(Context* context) {
                  llama_set_embeddings_nextn(context, true, false);
                  llama_get_embeddings_nextn_ith(context, 0);
                }) {
    MtpFunctions functions;
    functions.keep_rows = [](llama_context* context, bool on, bool masked) {
      llama_set_embeddings_nextn(static_cast<Context*>(context), on, masked);
    };
    functions.row = [](llama_context* context, int32_t index) -> float* {
      return llama_get_embeddings_nextn_ith(static_cast<Context*>(context), index);
    };
    return functions;
  } else {
    return std::nullopt;
  }
}

// "0.7.0" is of the version "0.7", "0.70" is not.
bool IsOfVersion(std::string_view version, std::string_view known) {
  return version.starts_with(known) &&
         (version.size() == known.size() || version[known.size()] == '.');
}

}  // namespace

std::span<const std::string_view> VersionsWithMtp() {
  return kVersions;
}

Result<MtpFunctions> FindMangled(std::string_view version,
                                 const std::function<void*(const char* name)>& find) {
  const bool known = std::any_of(kVersions.begin(), kVersions.end(), [&](std::string_view listed) {
    return IsOfVersion(version, listed);
  });
  if (!known) {
    return Fail(ErrorCode::kUnsupported,
                "libllama " + std::string(version) +
                    " is not one of those whose functions for multi-token prediction are known: " +
                    JoinNames(kVersions));
  }
  void* const keep_rows = find(kKeepRows);
  void* const row = find(kRow);
  if (keep_rows == nullptr || row == nullptr) {
    return Fail(ErrorCode::kUnsupported,
                "this build of libllama " + std::string(version) +
                    " does not export its functions for multi-token prediction");
  }
  MtpFunctions functions;
  functions.keep_rows = reinterpret_cast<decltype(functions.keep_rows)>(keep_rows);
  functions.row = reinterpret_cast<decltype(functions.row)>(row);
  return functions;
}

Result<MtpFunctions> FindMtpFunctions() {
  if (const auto declared = Declared<llama_context>()) return *declared;
  return FindMangled(llama_version(), [](const char* name) { return dlsym(RTLD_DEFAULT, name); });
}

}  // namespace cairn
