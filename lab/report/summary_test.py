import unittest

from report.sample import sample
from report.summary import (allowed_tokens, first_token_ratios, geometric_mean, percentile,
                            summarize, tokens_of)


class Statistics(unittest.TestCase):
    def test_a_percentile_lies_on_a_line_between_the_nearest_values(self):
        self.assertEqual(percentile([3, 1, 2], 0.5), 2)
        self.assertEqual(percentile([1, 100], 0.5), 50.5)
        self.assertAlmostEqual(percentile([10, 20], 0.99), 19.9)
        self.assertEqual(percentile([7, 9], 1), 9)
        self.assertEqual(percentile([], 0.5), 0)

    def test_a_geometric_mean_weighs_half_and_twice_alike(self):
        self.assertAlmostEqual(geometric_mean([0.5, 2]), 1)
        self.assertEqual(geometric_mean([]), 0)

    def test_two_percent_and_eight_tokens_a_request_are_allowed(self):
        self.assertAlmostEqual(allowed_tokens(1000, 3), 1020 + 24)


class ASummary(unittest.TestCase):
    def test_adds_up_the_runs_that_went_well(self):
        summary = summarize(sample().servers[0], "chat")
        tokens = summary.tokens
        self.assertEqual((summary.runs, tokens.requests, summary.errors), (2, 8, []))
        self.assertEqual(tokens.sent, 2 * (5000 + 5200 + 5400 + 5600))
        self.assertEqual((tokens.read, tokens.lower_bound, tokens.read_in_all),
                         (2 * 5600, 2 * 5600, 2 * 5900))
        self.assertEqual(tokens.read_ratio, 1)
        self.assertAlmostEqual(tokens.read_in_all_ratio, 5900 / 5600)
        self.assertAlmostEqual(summary.tokens_per_second, 100)
        # 50, 50, 50, 55, 55, 55, 1250, 1375
        self.assertAlmostEqual(summary.first_token(0.5), 55)

    def test_leaves_out_runs_that_failed_but_keeps_their_errors(self):
        server = sample().servers[1]
        summary = summarize(server, "edit-early")
        self.assertEqual((summary.runs, summary.tokens.requests), (1, 4))
        self.assertEqual(summary.errors, [server.runs[3].error])

    def test_counts_cancelled_requests_but_not_their_times(self):
        server = sample().servers[0]
        server.runs = server.runs[:1]
        server.runs[0].requests[0].cancelled = True
        summary = summarize(server, "chat")
        self.assertEqual(summary.tokens.read, 5600)
        self.assertEqual(summary.first_token(0.99), 50, "the slow first request does not count")

    def test_has_no_ratio_when_the_lower_bound_of_one_request_is_not_known(self):
        server = sample().servers[0]
        server.runs[2].requests[2].lower_bound_tokens = 0
        self.assertEqual(tokens_of(server.runs[:1]).lower_bound, 5600)
        self.assertEqual(summarize(server, "chat").tokens.read_ratio, 0)

    def test_has_no_tokens_a_second_of_answers_of_one_token(self):
        server = sample().servers[0]
        for run in server.runs:
            for request in run.requests:
                request.answer_tokens = 1
        self.assertEqual(summarize(server, "chat").tokens_per_second, 0)


class Pairs(unittest.TestCase):
    def test_are_of_the_same_repetition_and_place(self):
        ours, theirs = sample().servers
        ratios = first_token_ratios(ours, theirs, "chat")
        self.assertEqual(len(ratios), 8)
        self.assertAlmostEqual(ratios[0], 1)
        self.assertAlmostEqual(ratios[5], 1 / 12)
        self.assertAlmostEqual(geometric_mean(ratios), (1 / 12) ** 0.75)

    def test_leave_out_cancelled_requests_and_runs_without_a_partner(self):
        ours, theirs = sample().servers
        # The second run failed on the other server, the first one's last request was cancelled.
        self.assertEqual(len(first_token_ratios(ours, theirs, "edit-early")), 3)
        theirs.runs[0].requests = theirs.runs[0].requests[:1]
        self.assertEqual(len(first_token_ratios(ours, theirs, "chat")), 5)
        theirs.runs = []
        self.assertEqual(first_token_ratios(ours, theirs, "chat"), [])


if __name__ == "__main__":
    unittest.main()
