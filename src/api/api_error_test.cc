#include "api/api_error.h"

#include <gtest/gtest.h>

#include <string>

#include "api/anthropic/anthropic.h"
#include "api/json.h"
#include "base/utf8.h"

namespace cairn::api_error_test {
namespace {

constexpr size_t kMarkBytes = 3;  // of "…"

ApiError OfLongField(const std::string& text) {
  return FieldError(text, "'user' or 'tool', not '" + text + "'");
}

TEST(ApiErrorTest, ATextOfAClientsIsNotSentBackWhole) {
  const ApiError error = OfLongField(std::string(size_t{1} << 20, 'a'));
  const Json body = Json::parse(ErrorBody(error));
  for (const char* name : {"message", "param"}) {
    EXPECT_EQ(body["error"][name].get<std::string>().size(), kErrorTextBytesMax + kMarkBytes)
        << name;
  }
  const Json messages = Json::parse(MessagesErrorBody(error));
  EXPECT_EQ(messages["error"]["message"].get<std::string>().size(),
            kErrorTextBytesMax + kMarkBytes);
}

TEST(ApiErrorTest, ACharacterIsNotSplit) {
  for (size_t before = 0; before < 4; ++before) {
    std::string text(before, 'a');
    while (text.size() < 2 * kErrorTextBytesMax) text += "\xF0\x9F\xAA\xA8";
    const std::string shown = ShownErrorText(text);
    EXPECT_EQ(shown, ToValidUtf8(shown)) << before;
    EXPECT_LE(shown.size(), kErrorTextBytesMax + kMarkBytes);
  }
}

TEST(ApiErrorTest, AUsualTextIsWhole) {
  const Json body = Json::parse(ErrorBody(FieldError("stop", "a string")));
  EXPECT_EQ(body["error"]["message"], "'stop' must be a string");
  EXPECT_EQ(body["error"]["param"], "stop");
  EXPECT_EQ(ShownErrorText(std::string(kErrorTextBytesMax, 'a')).size(), kErrorTextBytesMax);
}

}  // namespace
}  // namespace cairn::api_error_test
