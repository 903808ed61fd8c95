// JsonScanner: checks, byte by byte, whether a text is a JSON object, and tracks the position in
// it. It keeps no text but a number's, so its cost does not depend on the object's length.

#ifndef CAIRN_CHAT_PARSE_JSON_SCANNER_H_
#define CAIRN_CHAT_PARSE_JSON_SCANNER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cairn {

// One per object; not thread-safe. Applies the limits of limited_json.h for depth and values. Does
// not check that strings are valid UTF-8.
class JsonScanner {
 public:
  enum class Status : uint8_t {
    kMore,     // the text is the beginning of an object
    kEnd,      // this byte ends the object
    kInvalid,  // not an object, whatever follows
  };
  // The part of a member of the outermost object that the last byte began or ended. The end of a
  // value that is a number or a literal is not reported.
  enum class Member : uint8_t { kNone, kKeyBegin, kKeyEnd, kValueBegin, kValueEnd };

  // REQUIRES: the last result was kMore.
  Status Push(char c);
  Member member() const { return member_; }

 private:
  enum class State : uint8_t {
    kStart,
    kFirstKey,
    kKey,
    kColon,
    kValue,
    kFirstItem,
    kBehindValue,
    kString,
    kEscape,
    kHex,
    kNumber,
    kLiteral,
  };

  Status Take(char c);
  Status Open(char c);
  Status Close(char c);
  Status BeginValue(char c);
  Status TakeInString(char c);
  Status TakeEscape(char c);
  Status TakeHex(char c);
  Status TakeInNumber(char c);
  Status TakeInLiteral(char c);
  Status TakeBehindValue(char c);
  void TellMember(Member member) { member_ = open_.size() == 1 ? member : member_; }

  State state_ = State::kStart;
  Member member_ = Member::kNone;
  std::vector<char> open_;  // open brackets
  size_t values_ = 0;
  bool is_key_ = false;      // the string is a key
  bool after_high_ = false;  // its last escape was the first half of a surrogate pair
  uint32_t hex_ = 0;
  size_t hex_digits_ = 0;
  std::string token_;  // a number, or the rest of a literal
};

}  // namespace cairn

#endif  // CAIRN_CHAT_PARSE_JSON_SCANNER_H_
