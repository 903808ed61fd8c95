#include "engine/token_text.h"

#include <algorithm>

namespace cairn {

std::string TokenText(const Model& model, Token token,
                      const std::vector<std::string>& control_texts) {
  std::string text = model.Piece(token, false);
  if (!text.empty() || control_texts.empty()) return text;
  text = model.Piece(token, true);
  const bool told =
      std::find(control_texts.begin(), control_texts.end(), text) != control_texts.end();
  return told ? text : "";
}

}  // namespace cairn
