// LlamaVocabulary: a model's tokens and their texts.
//
// libllama keeps the vocabulary inside the model. An engine that may unload its model loads the
// vocabulary a second time, separately, and keeps that copy; so any thread may use it at any time.
//
// Threads: any.

#ifndef CAIRN_ENGINE_LLAMA_MODEL_LLAMA_VOCABULARY_H_
#define CAIRN_ENGINE_LLAMA_MODEL_LLAMA_VOCABULARY_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/tokens.h"
#include "engine/llama/model/llama_options.h"
#include "engine/llama/model/llama_pointers.h"

struct llama_vocab;

namespace cairn {

struct TokenTexts;

class LlamaVocabulary {
 public:
  // Uses the vocabulary of `model`, which must outlive this object.
  explicit LlamaVocabulary(const llama_model* model);
  // Loads a copy that stays when the model is unloaded.
  static Result<LlamaVocabulary> LoadAlone(const LlamaOptions& options);

  const llama_vocab* vocab() const { return vocab_; }
  size_t size() const { return size_; }
  // Whether it was loaded by LoadAlone.
  bool stays() const { return own_model_ != nullptr; }

  // See Engine.
  Result<Tokens> Tokenize(std::string_view text, bool add_special, bool parse_special) const;
  std::string Piece(Token token, bool special) const;
  bool IsEndOfGeneration(Token token) const;
  // Returns the texts of all tokens, for grammars. Takes milliseconds.
  std::shared_ptr<const TokenTexts> ReadTexts() const;
  // The most bytes of text that one token stands for.
  size_t TokenBytesMax() const;

 private:
  explicit LlamaVocabulary(LlamaModelPtr own_model);

  LlamaModelPtr own_model_;
  const llama_vocab* vocab_;
  size_t size_;
};

}  // namespace cairn

#endif  // CAIRN_ENGINE_LLAMA_MODEL_LLAMA_VOCABULARY_H_
