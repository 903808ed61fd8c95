// Loads the files that the flags of `cairn serve` name.

#ifndef CAIRN_CMD_SERVE_SERVE_FILES_H_
#define CAIRN_CMD_SERVE_SERVE_FILES_H_

#include <memory>
#include <string>

#include "api/answer/answer_script.h"
#include "base/result.h"
#include "cmd/serve/serve.h"
#include "engine/engine.h"

namespace cairn {

// Loads the script. Null if `path` is empty. Errors are those of the file or of its content.
Result<std::unique_ptr<const AnswerScript>> ReadScript(const std::string& path);

// Returns the text of the chat template of the flags, or else of the model.
Result<std::string> TemplateSource(const ServeOptions& options, const ModelInfo& info);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_SERVE_FILES_H_
