#include "engine/same_vocabulary.h"

#include <algorithm>
#include <cstddef>
#include <string>

namespace cairn {
namespace {

// As llama-server allows.
constexpr size_t kPaddingMax = 128;

std::string QuotedPiece(const Model& model, size_t token) {
  if (token >= model.info().vocab_size) return "missing";
  return "\"" + model.Piece(static_cast<Token>(token), true) + "\"";
}

Status Differs(const Model& model, const Model& draft, size_t token) {
  return Fail(ErrorCode::kInvalidArgument,
              "the draft model has another vocabulary: token " + std::to_string(token) + " is " +
                  QuotedPiece(draft, token) + " in " + draft.info().path + " and " +
                  QuotedPiece(model, token) + " in " + model.info().path +
                  "; a draft model must be of the same family");
}

}  // namespace

Status CheckSameVocabulary(const Model& model, const Model& draft) {
  const auto [common, all] = std::minmax(model.info().vocab_size, draft.info().vocab_size);
  for (size_t token = 0; token < common; ++token) {
    const auto id = static_cast<Token>(token);
    const bool same = model.Piece(id, true) == draft.Piece(id, true) &&
                      model.IsEndOfGeneration(id) == draft.IsEndOfGeneration(id);
    if (!same) return Differs(model, draft, token);
  }
  if (all - common > kPaddingMax) return Differs(model, draft, common);
  return {};
}

}  // namespace cairn
