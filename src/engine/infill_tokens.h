// InfillTokens: the tokens of a vocabulary that structure a fill-in-the-middle prompt.

#ifndef CAIRN_ENGINE_INFILL_TOKENS_H_
#define CAIRN_ENGINE_INFILL_TOKENS_H_

#include "base/tokens.h"

namespace cairn {

// -1: the vocabulary has no such token.
struct InfillTokens {
  Token prefix = -1;
  Token suffix = -1;
  Token middle = -1;
  Token repository = -1;  // begins the text before all files
  Token separator = -1;   // begins a file

  bool complete() const { return prefix >= 0 && suffix >= 0 && middle >= 0; }
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_INFILL_TOKENS_H_
