// The context of a model's heads for multi-token prediction, and whether a file has heads that can
// be used. libllama aborts on heads that are incomplete, so the file is read first.
//
// For src/engine/llama/ only. Threads: the one that loads the model.

#ifndef CAIRN_ENGINE_LLAMA_HEADS_MTP_CONTEXT_H_
#define CAIRN_ENGINE_LLAMA_HEADS_MTP_CONTEXT_H_

#include <llama.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/llama/heads/mtp_functions.h"

namespace cairn {

// The architectures whose heads are used, in alphabetical order: each has one head with plain
// attention, as wide as the model. docs/speculation.md lists all whose heads libllama loads.
const std::vector<std::string_view>& ArchitecturesWithMtp();
// Those of them that tests try, on made models.
const std::vector<std::string_view>& ArchitecturesWithTriedMtp();

// kNotFound if the model has no heads, or a file cannot be read; kUnsupported, with a clear
// sentence, if its heads cannot be used here. `only_tried`: nor those of an architecture that no
// test tries.
Status CheckMtpHeads(const std::string& model_path, bool only_tried);

struct MtpContextDeleter {
  void operator()(llama_context* context) const { llama_free(context); }
};
struct MtpContext {
  std::unique_ptr<llama_context, MtpContextDeleter> context;  // nullptr: there are no heads
  MtpFunctions functions;
  size_t slots = 0;  // the sequence of this number is for taking and setting ranges
};

// Makes the context of the heads beside `of_model`, which was made with `params` and keeps its rows
// from now on. kUnsupported if libllama refuses; then `of_model` is as before.
Result<MtpContext> MakeMtpContext(llama_model* model, llama_context* of_model,
                                  llama_context_params params, size_t slots);

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_HEADS_MTP_CONTEXT_H_
