"""One turn with Strands Agents, over POST /v1/messages."""

import common
from strands import Agent, tool
from strands.models.anthropic import AnthropicModel
from strands.session.file_session_manager import FileSessionManager


def main():
    turn = common.asked()
    model = AnthropicModel(client_args={"base_url": turn.url, "api_key": "x"},
                           model_id=turn.model, max_tokens=4096)
    session = FileSessionManager(session_id="stones", storage_dir=str(turn.file))
    agent = Agent(agent_id="stones", model=model, system_prompt=common.RULES,
                  tools=[tool(common.run_command)], session_manager=session,
                  callback_handler=None)
    print(agent(turn.question))


if __name__ == "__main__":
    main()
