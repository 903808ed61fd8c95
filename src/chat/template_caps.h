// What a chat template can and wants, found out once by rendering small conversations.

#ifndef CAIRN_CHAT_TEMPLATE_CAPS_H_
#define CAIRN_CHAT_TEMPLATE_CAPS_H_

namespace cairn {

struct TemplateCaps {
  // The system text shows. Where it does not, it is put in front of the next user message.
  bool system_role = true;
  // The template speaks of developers. Where it does not, they are systems.
  bool developer_role = false;
  // The names of offered tools, calls and tool answers show.
  bool tools = false;
  bool tool_calls = false;
  bool tool_responses = false;
  // Call arguments must be objects; else they stay the text that the model wrote.
  bool object_arguments = false;
  // A message with calls and no text has null content; else an empty one.
  bool null_content = false;
  // Content must be a list of typed parts.
  bool typed_content = false;
  // An assistant's reasoning is called `thinking`, not `reasoning_content`.
  bool thinking_field = false;
};

}  // namespace cairn

#endif  // CAIRN_CHAT_TEMPLATE_CAPS_H_
