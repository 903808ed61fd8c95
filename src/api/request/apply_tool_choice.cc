#include "api/request/apply_tool_choice.h"

#include <string>
#include <utility>

#include "api/grammar/call_grammar.h"
#include "api/grammar/call_or_text_grammar.h"
#include "api/json.h"

namespace cairn {
namespace {

// The inputs that the grammar of calls depends on.
std::string GrammarKey(const Tools& tools, const ToolChoice& choice) {
  std::string key = choice.several ? "calls" : "call";
  for (const std::string& name : choice.names) key += "\n" + ToText(Json(name));
  return key + "\n" + tools.text();
}

// Returns the tools in the prompt's list and those that its messages show.
Tools CallableOf(const Conversation& conversation) {
  if (conversation.loaded_tools.empty()) return conversation.tools;
  Json all = conversation.tools.list();
  for (const Json& tool : conversation.loaded_tools.list()) all.push_back(tool);
  return Tools(std::move(all));
}

}  // namespace

ApiResult<Tools> ApplyToolChoice(const ChatTemplate& chat_template, ChatRequest* request,
                                 GrammarCache* cache) {
  const ToolChoice& choice = request->tool_choice;
  const Tools tools = CallableOf(request->conversation);
  if (choice.kind == ToolChoice::Kind::kNone) return Tools();
  const bool forced = choice.kind == ToolChoice::Kind::kRequired;
  if (forced) {
    if (!request->grammar.empty() && !request->grammar_is_format) {
      return tl::unexpected(
          FieldError(kToolChoiceField, "'auto' or 'none' where the answer has a grammar"));
    }
    // A format is for texts, and the answer has none.
    request->loosened.clear();  // of a format
    auto grammar = RulesOf(
        cache, GrammarKey(tools, choice), &request->loosened,
        [&](Loosened* loosened) { return GrammarOfCalls(chat_template, tools, choice, loosened); });
    if (!grammar) return tl::unexpected(grammar.error());
    request->grammar = *std::move(grammar);
  }
  if (choice.names.size() > tools.size()) {
    return tl::unexpected(
        FieldError(kToolChoiceField, "a choice among 'tools': it names more than there are"));
  }
  if (!forced && request->grammar_is_format && !request->grammar.empty()) {
    const std::string& format = request->grammar;
    auto both = RulesOf(cache, GrammarKey(tools, choice) + "\n" + format, nullptr, [&](Loosened*) {
      return ApiResult<std::string>(GrammarOfCallsOrText(chat_template, tools, choice, format));
    });
    if (!both) return tl::unexpected(both.error());
    request->grammar = *std::move(both);
  }
  return choice.names.empty() ? tools : tools.Named(choice.names);
}

}  // namespace cairn
