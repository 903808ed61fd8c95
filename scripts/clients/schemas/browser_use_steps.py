"""A few steps of browser-use's agent in a headless browser. It sends the schema of its actions, a
union of some twenty objects, as `response_format`. A made model chooses actions at random; each
answer that is complete must be one that the agent understands."""

import asyncio
import os
import shutil
import sys
from pathlib import Path

os.environ["ANONYMIZED_TELEMETRY"] = "false"
os.environ["BROWSER_USE_CLOUD_SYNC"] = "false"
os.environ["BROWSER_USE_CONFIG_DIR"] = sys.argv[3]

from browser_use import Agent, ChatOpenAI  # noqa: E402
from browser_use.browser.profile import BrowserProfile  # noqa: E402

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
STEPS = 4


async def run(url: str, model: str, folder: Path, browser: str):
    # Text of random letters ends early enough at this temperature.
    llm = ChatOpenAI(model=model, base_url=url + "/v1", api_key="x", temperature=1.6,
                     max_completion_tokens=8000, frequency_penalty=None)
    profile = BrowserProfile(executable_path=browser, headless=True, chromium_sandbox=False,
                             enable_default_extensions=False, user_data_dir=folder / "profile")
    agent = Agent(task=f"Open {url}/health and say what it shows.", llm=llm, use_vision=False,
                  browser_profile=profile, max_failures=STEPS)
    return await agent.run(max_steps=STEPS)


def main():
    url, model, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit("there is no Chromium")
    history = asyncio.run(run(url, model, folder, browser))
    # The first action is the agent's own: it opens the address that the task names. A whole number
    # may be beyond what its parser holds, which no schema of its says.
    wrong = [error for error in history.errors() if error and "validation error" in error
             and "int_parsing_size" not in error]
    if wrong:
        sys.exit(f"an answer is not of the agent's schema: {wrong[0][:200]}")
    if len(history.model_outputs()) < 2:
        sys.exit(f"no answer was understood: {[str(error)[:60] for error in history.errors()]}")


if __name__ == "__main__":
    main()
