"""One turn with Ollama's package for Python, over POST /api/chat."""

import json

import common
import ollama

TOOLS = {"run_command": common.run_command}
STEPS_MAX = 5


def answered(client, model: str, messages: list) -> dict:
    """The answer's message, put together from its stream."""
    answer = {"role": "assistant", "content": "", "thinking": "", "tool_calls": []}
    for part in client.chat(model, messages=messages, tools=list(TOOLS.values()), stream=True,
                            keep_alive="10m", options={"num_ctx": 8192}):
        answer["content"] += part.message.content or ""
        answer["thinking"] += part.message.thinking or ""
        answer["tool_calls"] += [call.model_dump() for call in part.message.tool_calls or []]
    return answer


def main():
    turn = common.asked()
    client = ollama.Client(host=turn.url)
    # Ollama's clients choose from what there is.
    model = client.list().models[0].model
    messages = [{"role": "system", "content": common.RULES}]
    if turn.file.is_file():
        messages = json.loads(turn.file.read_text())
    messages.append({"role": "user", "content": turn.question})
    for _ in range(STEPS_MAX):
        messages.append(answered(client, model, messages))
        calls = messages[-1]["tool_calls"]
        if not calls:
            break
        for call in calls:
            function = call["function"]
            messages.append({"role": "tool", "tool_name": function["name"],
                             "content": TOOLS[function["name"]](**function["arguments"])})
    turn.file.write_text(json.dumps(messages))
    print(messages[-1]["content"])


if __name__ == "__main__":
    main()
