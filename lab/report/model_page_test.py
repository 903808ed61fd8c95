import unittest
from dataclasses import replace

from report.model_page import model_page
from report.page import blocks_of, markdown
from report.result import Result
from report.sample import alone, expect_golden, sample


def page_of(result: Result) -> str:
    return markdown(model_page([result], []), "")


class TheModelsPage(unittest.TestCase):
    def test_says_what_was_prefilled_and_which_answers_differ(self):
        result = sample()
        control = replace(result.servers[1], name="llama-server, batches of 32")
        result.servers.append(control)
        facts = blocks_of("The model is the file `qwen35.gguf`.\n")
        expect_golden(self, "model_page.md", markdown(model_page([result], facts), ""))

    def test_says_that_no_answer_differs(self):
        result = sample()
        result.servers[1].runs[0].requests[2].answer = result.servers[0].runs[0].requests[2].answer
        page = page_of(result)
        self.assertIn("**11 of 11** requests", page)
        self.assertIn("None do.", page)
        self.assertNotIn("nearly equally likely", page)

    def test_says_that_prompts_differ(self):
        result = sample()
        result.servers[1].runs[0].requests[2].prompt_tokens += 1
        page = page_of(result)
        self.assertIn("prompts of other lengths of 1 request,", page)
        self.assertIn("| chat | turn 3 | other |", page)
        self.assertIn("To the other prompts, 10 of 10 answers are the same.", " ".join(page.split()))

    def test_of_one_server_compares_nothing(self):
        page = page_of(alone(sample().servers[0]))
        self.assertNotIn("same greedy answer", page)
        self.assertNotIn("Answers that differ", page)

    def test_of_nothing_says_so(self):
        self.assertIn("Nothing was played.", markdown(model_page([], []), ""))


if __name__ == "__main__":
    unittest.main()
