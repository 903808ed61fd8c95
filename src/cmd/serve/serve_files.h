// Loads the files that the flags of `cairn serve` name.

#ifndef CAIRN_CMD_SERVE_SERVE_FILES_H_
#define CAIRN_CMD_SERVE_SERVE_FILES_H_

#include <memory>
#include <string>

#include "api/service/answer_script.h"
#include "base/log.h"
#include "base/result.h"
#include "chat/template/chat_template.h"
#include "cmd/serve/base/serve_options.h"
#include "engine/engine.h"

namespace cairn {

// Loads the script. Null if `path` is empty. Errors are those of the file or of its content.
Result<std::unique_ptr<const AnswerScript>> ReadScript(const std::string& path);

// Returns the chat template of the flags, or else of the model. One of a flag that cannot be read
// is an error. The model's own is logged and returned as unreadable, because completions,
// embeddings and reranking need none; requests with messages are then refused with the reason.
Result<std::unique_ptr<ChatTemplate>> LoadTemplate(const ServeOptions& options,
                                                   const ModelInfo& info, const LogSink& log);

}  // namespace cairn

#endif  // CAIRN_CMD_SERVE_SERVE_FILES_H_
