#include "engine/llama/model/llama_vocabulary.h"

#include <llama.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "engine/llama/backend/llama_log.h"
#include "engine/llama/model/kv_overrides.h"
#include "engine/llama/model/llama_sampler.h"

namespace cairn {

LlamaVocabulary::LlamaVocabulary(const llama_model* model)
    : vocab_(llama_model_get_vocab(model)),
      size_(static_cast<size_t>(llama_vocab_n_tokens(vocab_))) {}

LlamaVocabulary::LlamaVocabulary(LlamaModelPtr own_model)
    : own_model_(std::move(own_model)),
      vocab_(llama_model_get_vocab(own_model_.get())),
      size_(static_cast<size_t>(llama_vocab_n_tokens(vocab_))) {}

Result<LlamaVocabulary> LlamaVocabulary::LoadAlone(const LlamaOptions& options) {
  const LlamaErrorListener errors(options.log);
  llama_model_params params = llama_model_default_params();
  params.vocab_only = true;
  const auto overrides = MakeKvOverrides(options.kv_overrides);
  if (!overrides) return tl::unexpected(overrides.error());
  if (!overrides->empty()) params.kv_overrides = overrides->data();
  LlamaModelPtr model(llama_model_load_from_file(options.model_path.c_str(), params));
  if (model) return LlamaVocabulary(std::move(model));
  return Fail(ErrorCode::kInvalidArgument, "libllama cannot load the vocabulary of '" +
                                               options.model_path + "' by itself" +
                                               errors.Because());
}

Result<Tokens> LlamaVocabulary::Tokenize(std::string_view text, bool add_special,
                                         bool parse_special) const {
  // No tokenizer makes more tokens than bytes, except for BOS, EOS and a space put in front.
  if (text.size() > static_cast<size_t>(INT32_MAX) - 8) {
    return Fail(ErrorCode::kTooLong, "the text has more than 2 GiB; no context holds it");
  }
  Tokens tokens(text.size() + 8);
  int32_t count =
      llama_tokenize(vocab_, text.data(), static_cast<int32_t>(text.size()), tokens.data(),
                     static_cast<int32_t>(tokens.size()), add_special, parse_special);
  if (count < 0 && count != INT32_MIN) {
    tokens.resize(static_cast<size_t>(-count));
    count = llama_tokenize(vocab_, text.data(), static_cast<int32_t>(text.size()), tokens.data(),
                           static_cast<int32_t>(tokens.size()), add_special, parse_special);
  }
  if (count < 0) return Fail(ErrorCode::kInternal, "libllama could not tokenize the text");
  tokens.resize(static_cast<size_t>(count));
  return tokens;
}

std::string LlamaVocabulary::Piece(Token token, bool special) const {
  if (token < 0 || static_cast<size_t>(token) >= size_) return "";
  std::string piece(32, '\0');
  int32_t bytes = llama_token_to_piece(vocab_, token, piece.data(),
                                       static_cast<int32_t>(piece.size()), 0, special);
  if (bytes < 0) {
    piece.resize(static_cast<size_t>(-bytes));
    bytes = llama_token_to_piece(vocab_, token, piece.data(), static_cast<int32_t>(piece.size()), 0,
                                 special);
  }
  piece.resize(static_cast<size_t>(std::max(bytes, 0)));
  return piece;
}

bool LlamaVocabulary::IsEndOfGeneration(Token token) const {
  return llama_vocab_is_eog(vocab_, token);
}

std::shared_ptr<const TokenTexts> LlamaVocabulary::ReadTexts() const {
  auto texts = std::make_shared<TokenTexts>();
  for (Token token = 0; token < static_cast<Token>(size_); ++token) {
    texts->texts.push_back(Piece(token, false));
    texts->ends.push_back(IsEndOfGeneration(token));
  }
  texts->trie = TokenTrie(texts->texts, texts->ends);
  return texts;
}

size_t LlamaVocabulary::TokenBytesMax() const {
  // A token's text in the vocabulary is at least as long as the bytes that it stands for.
  size_t bytes_max = 0;
  for (Token token = 0; token < static_cast<Token>(size_); ++token) {
    bytes_max = std::max(bytes_max, std::strlen(llama_vocab_get_text(vocab_, token)));
  }
  return bytes_max;
}

}  // namespace cairn
