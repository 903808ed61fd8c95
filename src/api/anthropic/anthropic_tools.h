// Parses `tools` of POST /v1/messages.
//
//   {name, input_schema}                  a function, in OpenAI's form, which templates expect
//   the same with `defer_loading`         not in the prompt; a `tool_reference` in a message shows
//                                         its definition there, and from then on it may be called
//   tool_search_tool_…                    the service's search for deferred tools, which this
//   server
//                                         does not run: all of them are in the prompt instead
//   web_search_…, web_fetch_…, …          run by the service itself: left out, and named in the log
//                                         and in the answer
//   bash_…, text_editor_…, others         a 400: the client waits for calls of it, and a model does
//                                         not know it without a schema
//
// A deferred tool's definition stands where it was found, so it does not change the prompt's
// beginning, which the cache has.

#ifndef CAIRN_API_ANTHROPIC_ANTHROPIC_TOOLS_H_
#define CAIRN_API_ANTHROPIC_ANTHROPIC_TOOLS_H_

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/api_error.h"
#include "api/json.h"
#include "chat/text/tools.h"

namespace cairn {

// Plain data; any thread.
class AnthropicTools {
 public:
  static ApiResult<AnthropicTools> Parse(const Json& body);

  // Returns what a reference to a tool shows: a deferred one's definition, which may be called from
  // then on; otherwise the name.
  std::string Reference(std::string_view name);

  // Return the tools in the prompt, and the deferred ones that were referred to.
  ApiResult<Tools> Shown() const { return MadeOf(shown_); }
  ApiResult<Tools> Loaded() const { return MadeOf(loaded_); }
  // The types of those that are left out.
  const std::vector<std::string>& left_out() const { return left_out_; }

 private:
  static ApiResult<Tools> MadeOf(const Json& list);
  ApiResult<void> Add(const Json& tool, const std::string& place);
  // Puts the deferred tools into the prompt.
  void ShowDeferred();

  Json shown_ = Json::array();
  Json loaded_ = Json::array();
  std::map<std::string, Json, std::less<>> deferred_;  // by name
  std::vector<std::string> order_;                     // of their names
  std::vector<std::string> left_out_;
  bool searches_ = false;  // the service's search is offered
};

}  // namespace cairn

#endif  // CAIRN_API_ANTHROPIC_ANTHROPIC_TOOLS_H_
