// Tokens of a template, as Jinja's lexer makes them with trim_blocks and lstrip_blocks.

#ifndef CAIRN_JINJA_SYNTAX_LEXER_H_
#define CAIRN_JINJA_SYNTAX_LEXER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jinja/value/value.h"

namespace cairn::jinja {

struct Token {
  enum class Type : uint8_t {
    kData,           // text: the template's own
    kVariableBegin,  // {{
    kVariableEnd,
    kBlockBegin,  // {%
    kBlockEnd,
    kName,
    kString,
    kInteger,
    kFloat,
    kOperator,
    kEnd
  } type = Type::kEnd;
  uint32_t at = 0;        // offset in the source
  std::string text = {};  // of a string: what it stands for
  bool changed = false;   // a string with escapes
  Int integer = 0;
  double floating = 0;

  bool Is(Type wanted) const { return type == wanted; }
  bool IsName(std::string_view name) const { return type == Type::kName && text == name; }
  bool IsOperator(std::string_view name) const { return type == Type::kOperator && text == name; }
};

// An error in the source, thrown and caught inside this library.
struct SyntaxError {
  std::string message;
  uint32_t at = 0;
};

// The source as the lexer reads it: all line breaks are "\n", and one at the end is left out.
std::string NormalizedSource(std::string_view source);

// The tokens of a normalized source, the last of which is kEnd. Throws SyntaxError.
std::vector<Token> Tokenize(std::string_view source);

}  // namespace cairn::jinja

#endif  // CAIRN_JINJA_SYNTAX_LEXER_H_
