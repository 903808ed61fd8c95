"""smolagents' ToolCallingAgent with a tool of an MCP server (stones_server.py), whose numbers are
bounded. Each of its requests forces a call; the server validates the arguments of each."""

import json
import sys
from pathlib import Path

from mcp import StdioServerParameters
from smolagents import LogLevel, OpenAIModel, ToolCallingAgent, ToolCollection

STEPS = 6


def main():
    url, model, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    calls = folder / "calls.txt"
    calls.touch()
    stones = Path(__file__).with_name("stones_server.py")
    server = StdioServerParameters(command=sys.executable, args=[str(stones), str(calls)])
    with ToolCollection.from_mcp(server, trust_remote_code=True,
                                 structured_output=False) as collection:
        agent = ToolCallingAgent(
            tools=[*collection.tools], max_steps=STEPS, verbosity_level=LogLevel.ERROR,
            model=OpenAIModel(model_id=model, api_base=url + "/v1", api_key="x", max_tokens=400))
        agent.run("Put three stones on the pile.")
    steps = [step for step in agent.memory.steps if getattr(step, "error", None)]
    if steps and "max steps" not in str(steps[-1].error):
        sys.exit(f"a step failed: {steps[-1].error}")
    called = [json.loads(line) for line in calls.read_text().splitlines()]
    if not called:
        sys.exit("the tool was not called")
    wrong = [call for call in called if not (0 <= call[0] <= 1 and 0 < call[1] < 10)]
    if wrong:
        sys.exit(f"the tool was called with {wrong}")


if __name__ == "__main__":
    main()
