// ReasoningControls: how a chat template is told how much reasoning is wanted. Found out once by
// rendering a small conversation with one variable after the other and looking what changes.

#ifndef CAIRN_CHAT_TEMPLATE_REASONING_CONTROLS_H_
#define CAIRN_CHAT_TEMPLATE_REASONING_CONTROLS_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "chat/message.h"
#include "chat/template/chat_template.h"

namespace cairn {

// "none", "minimal", "low" … "max", the least first.
const std::vector<std::string>& ReasoningEfforts();
// "'none', 'minimal', …", for messages.
std::string KnownEfforts();

// Plain data.
struct ReasoningControls {
  // The variable that turns reasoning on and off, and its values as JSON; empty: there is none.
  std::string switch_name;
  std::string switch_on;
  std::string switch_off;
  // The variable that names an effort; empty: there is none.
  std::string effort_name;
  // What the template is given for an effort. One that it refuses has the nearest it takes.
  std::map<std::string, std::string> efforts;

  friend bool operator==(const ReasoningControls&, const ReasoningControls&) = default;
};

// Nothing throws; any thread.
ReasoningControls FindReasoningControls(const ChatTemplate& chat_template);

// The template's variables that say `wish`, as the text of a JSON object; empty: it cannot be told,
// or nothing is wished.
std::string KwargsFor(const ReasoningControls& controls, const ReasoningWish& wish);

// Whether a template's variables turn reasoning on or off. REQUIRES: `kwargs_json` is empty or the
// text of a JSON object.
bool SetsSwitch(const ReasoningControls& controls, const std::string& kwargs_json);

// Why the template cannot be told of an effort, or not exactly, in a sentence; empty: it can.
std::string EffortNote(const ReasoningControls& controls, std::string_view effort);

// The objects' keys in one, of equal ones the last; empty where all are.
// REQUIRES: each is empty or the text of a JSON object.
std::string MergedKwargs(const std::vector<std::string>& kwargs_json);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_REASONING_CONTROLS_H_
