"""LiteLLM's `text_completion` with a list of prompts: one POST /v1/completions."""

import sys

import common
from litellm import text_completion


def main():
    url, model, _ = sys.argv[1:]

    def ask(prompt) -> list:
        answer = text_completion(model="text-completion-openai/" + model, prompt=prompt,
                                 api_base=url + "/v1", api_key="x", max_tokens=common.TOKENS,
                                 temperature=0)
        return [choice.text for choice in answer.choices]

    common.check_as_alone(ask(common.PROMPTS), lambda prompt: ask(prompt)[0])


if __name__ == "__main__":
    main()
