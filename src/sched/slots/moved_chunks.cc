#include "sched/slots/moved_chunks.h"

#include "base/check.h"
#include "media/media_tokens.h"

namespace cairn {

std::vector<MovedChunk> FindMovedChunks(TokenSpan held, TokenSpan prompt, size_t tokens_min) {
  CHECK(tokens_min > 0);
  std::vector<MovedChunk> chunks;
  if (prompt.empty()) return chunks;
  // A chunk might begin or end inside a medium.
  if (HasMedia(held) || HasMedia(prompt)) return chunks;
  prompt = prompt.first(prompt.size() - 1);
  size_t to = CommonPrefix(held, prompt);
  size_t from = to;
  while (from + tokens_min <= held.size() && to + tokens_min <= prompt.size()) {
    const size_t tokens = CommonPrefix(held.subspan(from), prompt.subspan(to));
    if (tokens < tokens_min) {
      ++from;
      continue;
    }
    chunks.push_back({from, to, tokens});
    from += tokens;
    to += tokens;
  }
  return chunks;
}

}  // namespace cairn
