// JsonScanner: whether bytes that come one after the other are a JSON object, and where they stand
// in it. It keeps no text but a number's, so it costs the same however long the object is.

#ifndef CAIRN_CHAT_PARSE_JSON_SCANNER_H_
#define CAIRN_CHAT_PARSE_JSON_SCANNER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cairn {

// One per object; not thread-safe. Holds to the limits of limited_json.h for depth and values. That
// strings are UTF-8 is not looked at.
class JsonScanner {
 public:
  enum class Status : uint8_t {
    kMore,     // a beginning of an object
    kEnd,      // with this byte the object ends
    kInvalid,  // no object, whatever follows
  };
  // The part of a member of the outermost object that the last byte began or ended. The end of a
  // value that is a number or a literal is not told.
  enum class Member : uint8_t { kNone, kKeyBegin, kKeyEnd, kValueBegin, kValueEnd };

  // REQUIRES: kMore was the last answer.
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
  std::vector<char> open_;  // brackets
  size_t values_ = 0;
  bool is_key_ = false;      // of the string
  bool after_high_ = false;  // its last escape was the first half of a character
  uint32_t hex_ = 0;
  size_t hex_digits_ = 0;
  std::string token_;  // of a number, or what is left of a literal
};

}  // namespace cairn

#endif  // CAIRN_CHAT_PARSE_JSON_SCANNER_H_
