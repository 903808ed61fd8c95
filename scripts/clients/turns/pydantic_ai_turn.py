"""One turn with pydantic-ai, over POST /v1/messages."""

import common
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessagesTypeAdapter
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.providers.anthropic import AnthropicProvider


def main():
    turn = common.asked()
    model = AnthropicModel(turn.model,
                           provider=AnthropicProvider(base_url=turn.url, api_key="x"))
    agent = Agent(model, instructions=common.RULES, tools=[common.run_command])
    history = None
    if turn.file.is_file():
        history = ModelMessagesTypeAdapter.validate_json(turn.file.read_bytes())
    result = agent.run_sync(turn.question, message_history=history)
    turn.file.write_bytes(result.all_messages_json())
    print(result.output)


if __name__ == "__main__":
    main()
