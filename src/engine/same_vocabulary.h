// CheckSameVocabulary: a draft model's tokens must be those of the model that verifies them.
//
// Pure; any thread.

#ifndef CAIRN_ENGINE_SAME_VOCABULARY_H_
#define CAIRN_ENGINE_SAME_VOCABULARY_H_

#include "base/result.h"
#include "engine/engine.h"

namespace cairn {

// kInvalidArgument, naming the first token that differs. Vocabularies of one family are padded to
// different sizes, so up to 128 tokens may be missing at the end of one; those are never drafted.
Status CheckSameVocabulary(const Model& model, const Model& draft);

}  // namespace cairn

#endif  // CAIRN_ENGINE_SAME_VOCABULARY_H_
