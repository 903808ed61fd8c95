import unittest

from report.agreement import agreement
from report.sample import sample


class TheAgreement(unittest.TestCase):
    def setUp(self):
        self.ours, self.theirs = sample().servers

    def test_counts_requests_whose_answers_are_the_same_text(self):
        found = agreement(self.ours, self.theirs, ["chat"])
        self.assertEqual((found.alike, len(found.pairs)), (7, 8))
        self.assertEqual([pair.theirs.answer for pair in found.different], ["A heap of rocks."])
        self.assertEqual(found.other_prompts, 0)

    def test_leaves_out_what_has_no_whole_answer_on_both(self):
        # One request of edit-early is cancelled, and the peer's second run failed.
        self.assertEqual(len(agreement(self.ours, self.theirs, ["edit-early"]).pairs), 3)
        self.assertEqual(agreement(self.ours, self.theirs, ["unknown"]).pairs, [])

    def test_knows_prompts_of_another_length(self):
        self.theirs.runs[0].requests[0].prompt_tokens += 1
        found = agreement(self.ours, self.theirs, ["chat"])
        self.assertEqual(found.other_prompts, 1)
        self.assertEqual(len(found.of_same_prompts().pairs), 7)


if __name__ == "__main__":
    unittest.main()
