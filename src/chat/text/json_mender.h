// JsonMender: reads an object in JSON, or near it, byte by byte while a model writes it, and writes
// it as JSON. JSON stays as it is, byte for byte. What models write instead of it is mended where
// its meaning is plain:
//
//   {'a': True, "b": "two
//   lines", c: "\d",}         ->   {"a": true, "b": "two\nlines", "c": "\\d"}
//
// Everything else is invalid: nothing is guessed, and nothing that is missing is added.

#ifndef CAIRN_CHAT_TEXT_JSON_MENDER_H_
#define CAIRN_CHAT_TEXT_JSON_MENDER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cairn {

// One per object; not thread-safe. Applies the limits of limited_json.h. Does not check that
// strings are valid UTF-8. The cost of a byte does not depend on the object's length.
class JsonMender {
 public:
  enum class Status : uint8_t {
    kMore,     // the text is the beginning of an object
    kEnd,      // this byte ends the object
    kInvalid,  // not an object, whatever follows
  };
  // The part of a member of the outermost object that the last byte began or ended. The end of a
  // value that is a number or a literal is not reported.
  enum class Member : uint8_t { kNone, kKeyBegin, kKeyEnd, kValueBegin, kValueEnd };

  // `quote`: a text that opens and closes strings without escapes, beside JSON's quotes, in the
  // notation of Gemma 4 ({city:<|"|>Rome<|"|>}). There, bare keys are usual and white space between
  // the values is written as ", " and ": ". Empty: JSON.
  explicit JsonMender(std::string_view quote = {}) : quote_(quote) {}

  // Reads a byte and appends to `json` what is certain by it. REQUIRES: the last result was kMore.
  Status Push(char c, std::string* json);

  Member member() const { return member_; }
  // Where in `json` the last key or value of the outermost object begins and, once member() has
  // told its end, ends.
  size_t token_begin() const { return token_begin_; }
  size_t token_end() const { return token_end_; }
  // The number of bytes that were read last and are not written yet, an invalid one included.
  size_t unwritten_bytes() const { return unwritten_bytes_; }
  // Whether something was not JSON (with a quote: not the usual notation), white space apart.
  bool mended() const { return mended_; }

 private:
  enum class State : uint8_t {
    kStart,
    kFirstKey,
    kKey,
    kColon,
    kValue,
    kFirstItem,
    kItem,
    kBehindValue,
    kString,
    kEscape,
    kHex,
    kNumber,
    kLiteral,
    kBareKey,
    kQuote,         // in the text that opens a string
    kQuotedString,  // behind it
  };
  struct Opened {
    char bracket;
    size_t keys = 0;
  };

  Status Take(char c);
  Status TakeBetween(char c);
  Status TakeSpace(char c);
  Status BeginKey(char c);
  Status BeginValue(char c);
  Status BeginString(char c);
  Status Open(char c);
  Status Close(char c);
  Status TakeBehindValue(char c);
  Status TakeInString(char c);
  Status TakeEscape(char c);
  Status TakeHex(char c);
  Status TakeInNumber(char c);
  Status TakeInLiteral(char c);
  Status TakeInBareKey(char c);
  Status TakeInQuote(char c);
  Status TakeInQuotedString(char c);
  void EndString();
  bool MayBeInBareKey(char c) const;
  void LoseHalf();
  void Write(std::string_view text);
  void WriteInString(char c);
  void WriteComma(bool trailing);
  void TellMember(Member member);

  const std::string quote_;
  State state_ = State::kStart;
  Member member_ = Member::kNone;
  std::string* json_ = nullptr;  // during Push
  size_t token_begin_ = 0;
  size_t token_end_ = 0;
  size_t unwritten_bytes_ = 0;
  bool mended_ = false;
  std::vector<Opened> open_;
  size_t values_ = 0;
  bool is_key_ = false;    // the string is a key
  char delimiter_ = '"';   // that closes the string
  std::string comma_;      // and white space behind it, until something follows
  std::string half_;       // the escape of the first half of a surrogate pair
  std::string token_;      // a number, the rest of a literal, an escape or a quote
  std::string_view word_;  // the JSON of the literal
  std::string space_;      // in a bare key, until more of it follows
  size_t key_bytes_ = 0;   // of the bare key
};

// Returns the object that the whole text is, white space around it apart, as JSON; nullopt if it is
// none. Sets `mended` if it is not JSON already.
std::optional<std::string> MendJsonObject(std::string_view text, bool* mended);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEXT_JSON_MENDER_H_
