"""LangChain's `OpenAI.generate` with a list of prompts: one POST /v1/completions."""

import sys

import common
from langchain_openai import OpenAI


def main():
    url, model, _ = sys.argv[1:]
    llm = OpenAI(base_url=url + "/v1", api_key="x", model=model, max_tokens=common.TOKENS,
                 temperature=0)
    answers = llm.generate(common.PROMPTS).generations
    common.check_as_alone([choices[0].text for choices in answers], llm.invoke)


if __name__ == "__main__":
    main()
