"""One turn with LangChain's ChatOllama, over POST /api/chat."""

import json

import common
import ollama
from langchain_core.messages import (HumanMessage, SystemMessage, ToolMessage, messages_from_dict,
                                     messages_to_dict)
from langchain_core.tools import tool
from langchain_ollama import ChatOllama

STEPS_MAX = 5


def main():
    turn = common.asked()
    run_command = tool(common.run_command)
    # Ollama's clients choose from what there is; LangChain checks that the model is there.
    name = ollama.Client(host=turn.url).list().models[0].model
    model = ChatOllama(base_url=turn.url, model=name, reasoning=True, num_ctx=8192,
                       validate_model_on_init=True).bind_tools([run_command])
    messages = [SystemMessage(common.RULES)]
    if turn.file.is_file():
        messages = messages_from_dict(json.loads(turn.file.read_text()))
    messages.append(HumanMessage(turn.question))
    for _ in range(STEPS_MAX):
        messages.append(model.invoke(messages))
        calls = messages[-1].tool_calls
        if not calls:
            break
        for call in calls:
            output = run_command.invoke(call["args"])
            messages.append(ToolMessage(output, tool_call_id=call["id"], name=call["name"]))
    turn.file.write_text(json.dumps(messages_to_dict(messages)))
    print(messages[-1].content)


if __name__ == "__main__":
    main()
