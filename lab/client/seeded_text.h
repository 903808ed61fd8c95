// SeededText: text that reads a little like prose, code or the output of a tool and says nothing,
// the same for the same seed on every machine.

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
  // Texts of different names under one seed differ from their first word on.
  SeededText(uint64_t seed, std::string_view name);

  // Sentences and paragraphs; exactly `bytes` of ASCII.
  std::string Prose(size_t bytes);
  // Numbered lines of words and signs, as of a program's source; exactly `bytes` of ASCII.
  std::string Code(size_t bytes);
  // One made-up word.
  std::string Word();
  // Less than `limit`, which is at least 1.
  uint64_t Number(uint64_t limit);

 private:
  uint64_t Next();

  uint64_t state_;
};

}  // namespace cairn

#endif  // CAIRN_LAB_CLIENT_SEEDED_TEXT_H_
