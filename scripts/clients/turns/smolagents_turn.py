"""One turn with smolagents' ToolCallingAgent, over POST /v1/chat/completions. Each of its requests
forces a call, so that its answers are calls too."""

import pickle

import common
from smolagents import LogLevel, OpenAIModel, ToolCallingAgent, tool


def main():
    turn = common.asked()
    model = OpenAIModel(model_id=turn.model, api_base=turn.url + "/v1", api_key="x")
    agent = ToolCallingAgent(tools=[tool(common.run_command)], model=model,
                             instructions=common.RULES, verbosity_level=LogLevel.ERROR)
    if turn.file.is_file():
        agent.memory.steps = pickle.loads(turn.file.read_bytes())
    print(agent.run(turn.question, reset=False))
    turn.file.write_bytes(pickle.dumps(agent.memory.steps))


if __name__ == "__main__":
    main()
