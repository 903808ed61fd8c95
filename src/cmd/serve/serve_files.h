// Files and texts that the flags of `cairn serve` name.

#ifndef CAIRN_CMD_SERVE_SERVE_FILES_H_
#define CAIRN_CMD_SERVE_SERVE_FILES_H_

#include <memory>
#include <string>

#include "api/answer/answer_script.h"
#include "base/result.h"
#include "cmd/serve/serve.h"
#include "engine/engine.h"

namespace cairn {

// Null when `path` is empty. Errors: the file's, or what is wrong in it.
Result<std::unique_ptr<const AnswerScript>> ReadScript(const std::string& path);

// The text of the chat template that the flags, or else the model, name.
Result<std::string> TemplateSource(const ServeOptions& options, const ModelInfo& info);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_SERVE_FILES_H_
