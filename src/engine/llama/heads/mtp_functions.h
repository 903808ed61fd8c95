// MtpFunctions: libllama's functions for the hidden states that heads for multi-token prediction
// read. llama.h of 1.0 declares them. Versions before that export them as C++ functions, which no
// installed header declares: they are found at run time by their mangled names.
//
// A mangled name holds the function's name and the types of its arguments. It holds neither what
// the function returns nor what it does, nor the layout of any type. So they are used only in the
// versions of a list, for which a person has read both; nothing but pointers and numbers passes;
// and a test computes a model's logits from the rows (docs/decisions/0063-mtp-heads.md).
//
// For src/engine/llama/ only.

#ifndef CAIRN_ENGINE_LLAMA_HEADS_MTP_FUNCTIONS_H_
#define CAIRN_ENGINE_LLAMA_HEADS_MTP_FUNCTIONS_H_

#include <llama.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "base/result.h"

namespace cairn {

struct MtpFunctions {
  // Whether decodes of the context leave the hidden states behind: of all tokens of a batch, or if
  // `masked` of those that have logits.
  void (*keep_rows)(llama_context* context, bool on, bool masked) = nullptr;
  // Returns the row of the token `index` of the last decode; nullptr if there is none.
  float* (*row)(llama_context* context, int32_t index) = nullptr;
};

// The versions whose C++ functions are known, as "0.7".
std::span<const std::string_view> VersionsWithMtp();

// kUnsupported, with a clear sentence, if this libllama has no such functions or is another
// version.
Result<MtpFunctions> FindMtpFunctions();
// As FindMtpFunctions, where llama.h does not declare them. `find`: the address of an exported
// name, or nullptr.
Result<MtpFunctions> FindMangled(std::string_view version,
                                 const std::function<void*(const char* name)>& find);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_HEADS_MTP_FUNCTIONS_H_
