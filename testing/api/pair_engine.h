// For tests: FakeEngine with a vocabulary that has tokens for pairs of letters. It answers letter
// by letter, so the text of its answers, tokenised, makes other tokens than were generated.

#ifndef CAIRN_TESTING_API_PAIR_ENGINE_H_
#define CAIRN_TESTING_API_PAIR_ENGINE_H_

#include <string>
#include <string_view>

#include "testing/engine/fake_engine.h"

namespace cairn::test {

// Texts must be ASCII: the tokens above are the pairs.
class PairEngine : public FakeEngine {
 public:
  using FakeEngine::FakeEngine;

  // Set, it puts a space in front of every text that begins with no special token.
  bool adds_space = false;

  Result<Tokens> Tokenize(std::string_view text, bool add_special,
                          bool parse_special) const override {
    const Result<Tokens> single = FakeEngine::Tokenize(text, add_special, parse_special);
    Tokens tokens;
    if (adds_space && !single->empty() && single->front() < kEndOfText) tokens.push_back(' ');
    for (const Token token : *single) {
      const bool pair = !tokens.empty() && IsLetter(tokens.back()) && IsLetter(token);
      if (pair) {
        tokens.back() = kFirstPair + (tokens.back() - 'a') * kLetters + (token - 'a');
      } else {
        tokens.push_back(token);
      }
    }
    return tokens;
  }

  std::string Piece(Token token, bool special) const override {
    if (token < kFirstPair || token >= kEndOfText) return FakeEngine::Piece(token, special);
    const int pair = token - kFirstPair;
    return {static_cast<char>('a' + pair / kLetters), static_cast<char>('a' + pair % kLetters)};
  }

 private:
  static constexpr Token kFirstPair = 128;
  static constexpr Token kLetters = 11;  // as many as there are tokens for

  static bool IsLetter(Token token) { return token >= 'a' && token < 'a' + kLetters; }
};

}  // namespace cairn::test

#endif  // CAIRN_TESTING_API_PAIR_ENGINE_H_
