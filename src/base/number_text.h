// Numbers as people read them.

#ifndef CAIRN_BASE_NUMBER_TEXT_H_
#define CAIRN_BASE_NUMBER_TEXT_H_

#include <cstddef>
#include <string>

namespace cairn {

// "12,345".
inline std::string WithCommas(size_t number) {
  std::string text = std::to_string(number);
  for (size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, 1, ',');
  return text;
}

}  // namespace cairn

#endif  // CAIRN_BASE_NUMBER_TEXT_H_
