import math
import unittest
from copy import deepcopy

from report.claims import check_allowed, check_peers, peer_ratios
from report.result import Result
from report.sample import alone, healthy, sample


class TheAllowedTokens(unittest.TestCase):
    def test_are_two_percent_and_eight_a_request_more(self):
        # edit-early: 5,740 prefilled, lower bound 5,600, four requests: 5,712 + 32 are allowed.
        result = healthy()
        prompt = result.servers[0].runs[1].requests[1]
        prompt.read_tokens += 4
        self.assertEqual(check_allowed([result]).held, 2)
        prompt.read_tokens += 1
        check = check_allowed([result])
        self.assertEqual((check.held, check.checked), (1, 2))
        case = check.broken[0]
        self.assertEqual((case.title, case.scenario), ("hybrid: qwen35", "edit-early"))
        self.assertEqual(case.why, "run 1 prefilled 5,745, allowed are 5,744 (1.02 times 5,600 + 8 "
                         "for each of 4)")

    def test_are_exceeded_by_one_run_however_well_the_others_went(self):
        result = healthy()
        result.servers[0].runs[2].requests[1].read_tokens += 1000
        check = check_allowed([result])
        self.assertEqual(len(check.broken), 1)
        self.assertTrue(check.broken[0].why.startswith("run 2 prefilled 6,600,"))

    def test_cannot_be_checked_without_the_lower_bound_or_after_a_failure(self):
        result = healthy()
        ours = result.servers[0]
        for request in ours.runs[0].requests + ours.runs[2].requests:
            request.lower_bound_tokens = 0
        ours.runs[3].error = "it is gone"
        check = check_allowed([result])
        self.assertEqual(check.held, 0)
        self.assertEqual([case.why for case in check.unchecked],
                         ["the lower bound is not known", "cairn failed: it is gone"])


class ThePeer(unittest.TestCase):
    def test_prefills_no_less(self):
        check = check_peers([healthy(), healthy()])
        self.assertEqual((check.held, check.broken, check.unchecked), (4, [], []))

    def test_may_prefill_eight_tokens_a_request_less(self):
        result = healthy()
        ours, theirs = result.servers
        theirs.runs = deepcopy(ours.runs)
        for run in theirs.runs:
            if run.scenario == "edit-early":
                run.requests[1].read_tokens -= 32
        self.assertEqual(check_peers([result]).held, 2)
        ours.runs[1].requests[2].read_tokens += 1
        check = check_peers([result])
        self.assertEqual([case.why for case in check.broken],
                         ["beside llama-server: run 1 prefilled 5,741, allowed are 5,740 (5,708 + "
                          "8 for each of 4)"])

    def test_is_named_when_it_failed(self):
        check = check_peers([sample()])
        self.assertEqual(check.held, 1)
        self.assertTrue(check.unchecked[0].why.startswith(
            "beside llama-server: llama-server failed: turn 2"), check.unchecked[0].why)


class Ratios(unittest.TestCase):
    def test_weigh_each_scenario_alike(self):
        ratio = peer_ratios([healthy()])[0]
        self.assertEqual((ratio.peer, len(ratio.values)), ("llama-server", 2))
        self.assertLess(min(ratio.values), max(ratio.values))
        self.assertAlmostEqual(ratio.mean, math.sqrt(ratio.values[0] * ratio.values[1]))

    def test_find_peers_by_name_in_every_result(self):
        other = healthy()
        best = deepcopy(other.servers[1])
        best.name = "llama-server, best"
        other.servers.append(best)
        counts = [(ratio.peer, len(ratio.values)) for ratio in peer_ratios([healthy(), other])]
        self.assertEqual(counts, [("llama-server", 4), ("llama-server, best", 2)])


class NothingOrOneServer(unittest.TestCase):
    def test_has_nothing_to_compare(self):
        self.assertEqual(check_allowed([]).held, 0)
        self.assertEqual(check_peers([Result(1, 0, [])]).held, 0)
        ours = alone(healthy().servers[0])
        self.assertEqual(check_peers([ours]).checked, 0)
        self.assertEqual(peer_ratios([ours]), [])
        self.assertEqual(check_allowed([ours]).held, 2)


if __name__ == "__main__":
    unittest.main()
