// ReasoningControls: the variables that tell a chat template how much reasoning is wanted. They are
// found once, by rendering a small conversation with one variable after another and comparing the
// results.

#ifndef CAIRN_CHAT_TEMPLATE_REASONING_CONTROLS_H_
#define CAIRN_CHAT_TEMPLATE_REASONING_CONTROLS_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "chat/template/chat_template.h"
#include "chat/text/message.h"

namespace cairn {

// "none", "minimal", "low" … "max", in rising order.
const std::vector<std::string>& ReasoningEfforts();
// Returns "'none', 'minimal', …", for messages.
std::string KnownEfforts();

// Plain data.
struct ReasoningControls {
  // The variable that turns reasoning on and off, and its values as JSON; empty if there is none.
  std::string switch_name;
  std::string switch_on;
  std::string switch_off;
  // The variable that sets an effort; empty if there is none.
  std::string effort_name;
  // Maps each effort to the value given to the template. An effort that the template refuses maps
  // to the nearest one that it accepts.
  std::map<std::string, std::string> efforts;
  // The variables for a request that asks for nothing, as the text of a JSON object: the switch is
  // turned on where it decides how an answer begins and the template does not have it on. Empty if
  // the template reasons by itself or leaves that to the model, or if its switch is only a sentence
  // in the system text: then its own default holds, as in llama-server.
  std::string unasked;

  friend bool operator==(const ReasoningControls&, const ReasoningControls&) = default;
};

// Never throws; any thread.
ReasoningControls FindReasoningControls(const ChatTemplate& chat_template);

// Returns the template's variables for `wish`, as the text of a JSON object; empty if the template
// has none for it, or if the wish is empty.
std::string KwargsFor(const ReasoningControls& controls, const ReasoningWish& wish);

// Whether a template's variables turn reasoning on or off. REQUIRES: `kwargs_json` is empty or the
// text of a JSON object.
bool SetsSwitch(const ReasoningControls& controls, const std::string& kwargs_json);

// Returns `kwargs_json` with the template's own switch, where they turn reasoning on or off only by
// a name that other templates have for it: `enable_thinking` for a template whose switch is
// `thinking`, or an effort of "none". Otherwise returns them unchanged. REQUIRES: as for
// SetsSwitch.
std::string WithOwnSwitch(const ReasoningControls& controls, const std::string& kwargs_json);

// Whether a template's variables turn reasoning off. REQUIRES: as for SetsSwitch.
bool TurnsOff(const ReasoningControls& controls, const std::string& kwargs_json);

// Returns, in a sentence, why the template does not support an effort, or not exactly; empty if it
// does.
std::string EffortNote(const ReasoningControls& controls, std::string_view effort);

// Returns one object with the keys of all objects, of which later ones take precedence; empty if
// all are. REQUIRES: each is empty or the text of a JSON object.
std::string MergedKwargs(const std::vector<std::string>& kwargs_json);

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_REASONING_CONTROLS_H_
