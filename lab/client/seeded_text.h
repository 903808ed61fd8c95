// SeededText: meaningless text that resembles prose, code or a tool's output; the same for the same
// seed on every machine.

#ifndef CAIRN_LAB_CLIENT_SEEDED_TEXT_H_
#define CAIRN_LAB_CLIENT_SEEDED_TEXT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cairn {

// Not thread-safe.
class SeededText {
 public:
  // Texts of different names under one seed differ from the first word on.
  SeededText(uint64_t seed, std::string_view name);

  // Returns sentences and paragraphs; exactly `bytes` of ASCII.
  std::string Prose(size_t bytes);
  // Returns numbered lines of words and signs, like source code; exactly `bytes` of ASCII.
  std::string Code(size_t bytes);
  // Returns one made-up word.
  std::string Word();
  // Returns a number less than `limit`. REQUIRES: limit >= 1.
  uint64_t Number(uint64_t limit);

 private:
  uint64_t Next();

  uint64_t state_;
};

}  // namespace cairn

#endif  // CAIRN_LAB_CLIENT_SEEDED_TEXT_H_
