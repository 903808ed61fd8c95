// TokenText: the text of an answer's token, as clients see it.

#ifndef CAIRN_ENGINE_TOKEN_TEXT_H_
#define CAIRN_ENGINE_TOKEN_TEXT_H_

#include <string>
#include <vector>

#include "engine/engine.h"

namespace cairn {

// Returns the token's text. Control tokens have none, except those whose text is one of
// `control_texts`. Any thread.
std::string TokenText(const Model& model, Token token,
                      const std::vector<std::string>& control_texts);

}  // namespace cairn

#endif  // CAIRN_ENGINE_TOKEN_TEXT_H_
