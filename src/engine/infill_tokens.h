// InfillTokens: the tokens of a vocabulary that a text to be filled in is laid out with.

#ifndef CAIRN_ENGINE_INFILL_TOKENS_H_
#define CAIRN_ENGINE_INFILL_TOKENS_H_

#include "base/tokens.h"

namespace cairn {

// -1: the vocabulary has none.
struct InfillTokens {
  Token prefix = -1;
  Token suffix = -1;
  Token middle = -1;
  Token repository = -1;  // begins what stands before all files
  Token separator = -1;   // begins a file

  bool complete() const { return prefix >= 0 && suffix >= 0 && middle >= 0; }
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_INFILL_TOKENS_H_
