import json
import tempfile
import unittest
from pathlib import Path

from report.result import Result, ResultError, merge, parse, read
from report.sample import SAMPLE_JSON, alone, of_model, sample


def text_with(change) -> str:
    data = json.loads(SAMPLE_JSON.read_text(encoding="utf-8"))
    change(data)
    return json.dumps(data)


class AResult(unittest.TestCase):
    def complaint(self, text: str) -> str:
        with self.assertRaises(ResultError) as caught:
            parse(text)
        return str(caught.exception)

    def test_is_read_as_the_client_wrote_it(self):
        result = sample()
        self.assertEqual((result.scale, result.seed, result.title), (0.5, 7, "hybrid: qwen35"))
        ours, theirs = result.servers
        self.assertEqual(ours.runs[0].requests[0].prompt_tokens, 5000)
        self.assertTrue(ours.runs[1].requests[3].cancelled)
        self.assertIn("<out of memory>", theirs.runs[3].error)
        self.assertEqual(ours.load_runs[2].turns[1].read_tokens, 260)
        self.assertEqual(theirs.load_runs[3].faults, {"status 500": 1234})
        self.assertEqual(theirs.load_runs[2].samples["first_token"], [12000, 600])

    def test_of_anything_else_is_refused(self):
        for text in ("[1]", '{"format": 3}', '{"format": "cairn-load", "version": 1}'):
            self.assertEqual(self.complaint(text), "it is no result of cairn-lab bench")
        self.assertEqual(self.complaint(SAMPLE_JSON.read_text()[:-100]), "it is no JSON")

    def test_of_another_version_is_refused(self):
        text = text_with(lambda data: data.update(version=1))
        self.assertIn("another version", self.complaint(text))

    def test_names_the_field_that_is_wrong(self):
        def request(data):
            return data["servers"][0]["runs"][0]["requests"][0]

        text = text_with(lambda data: request(data).update(prompt_tokens=-5))
        self.assertEqual(self.complaint(text), "prompt_tokens must be a whole number from 0 on")
        text = text_with(lambda data: request(data).update(cancelled=0))
        self.assertEqual(self.complaint(text), "cancelled must be true or false")
        text = text_with(lambda data: data["servers"][0].pop("runs"))
        self.assertEqual(self.complaint(text), "servers has no runs")

    def test_that_cannot_be_read_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "bad.json"
            with self.assertRaisesRegex(ResultError, r"bad\.json' cannot be read"):
                read(path)
            path.write_text("{}", encoding="utf-8")
            with self.assertRaisesRegex(ResultError, r"bad\.json' cannot be used: it is no result"):
                read(path)


class Merged(unittest.TestCase):
    def test_results_have_the_runs_of_a_server_one_after_another(self):
        merged = merge([sample(), sample()])
        self.assertEqual(len(merged), 1)
        ours = merged[0].servers[0]
        self.assertEqual([run.repetition for run in ours.runs], [0, 0, 1, 1, 2, 2, 3, 3])
        self.assertEqual([run.repetition for run in ours.load_runs], [0] * 4 + [1] * 4)

    def test_results_of_servers_played_alone_are_one_for_each_model(self):
        ours, theirs = sample().servers
        theirs.model = "qwen35.gguf"  # without the folder
        other = of_model(alone(ours), "llama.gguf", "attention")
        merged = merge([alone(ours), alone(theirs), other, alone(ours)])
        self.assertEqual([result.title for result in merged],
                         ["hybrid: qwen35", "attention: llama"])
        self.assertEqual([server.name for server in merged[0].servers], ["cairn", "llama-server"])
        self.assertEqual(len(merged[0].servers[0].runs), 8)
        self.assertEqual(merged[0].servers[1].memory, "hybrid", "as the other server says")

    def test_nothing_is_nothing(self):
        self.assertEqual(merge([]), [])
        self.assertEqual(merge([Result(1, 1, [])]), [])


if __name__ == "__main__":
    unittest.main()
