"""lm-evaluation-harness over two local tasks, one that generates and one of several choices. Their
scores are compared with those of next-token log-probabilities, one request for each token: of
llama-server where SCORES_URL names one, else of the server itself."""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import common
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

CHOICES = [" a heap of stones", " wet", " grey"]
TOLERANCE = 1e-3  # of a sum of log-probabilities
TASK = """task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
doc_to_text: text
"""
GENERATE = """output_type: generate_until
doc_to_target: answer
generation_kwargs: {until: ["\\n\\n"], max_gen_toks: 8, do_sample: false}
metric_list: [{metric: exact_match}]
"""
CHOOSE = """output_type: multiple_choice
doc_to_target: right
doc_to_choice: choices
target_delimiter: ""
metric_list: [{metric: acc}]
"""


def write_tokenizer(folder: Path):
    """Of made models: a token a byte, and its number is the byte."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    vocab = {chr(byte): byte for byte in shown}
    vocab |= {chr(256 + place): byte for place, byte in enumerate(hidden)}
    tokenizer = Tokenizer(models.BPE(vocab | {"<|endoftext|>": 256}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer,
                            eos_token="<|endoftext|>").save_pretrained(folder)


def write_tasks(folder: Path):
    data = folder / "data.jsonl"
    docs = [{"text": text, "answer": "x", "right": right, "choices": CHOICES}
            for right, text in enumerate(common.PROMPTS)]
    data.write_text("".join(json.dumps(doc) + "\n" for doc in docs))
    for name, rest in (("stones_text", GENERATE), ("stones_choice", CHOOSE)):
        (folder / f"{name}.yaml").write_text(TASK.format(name=name, data=data) + rest)


def completion(url: str, tokens: list, **what) -> dict:
    body = {"prompt": tokens, "temperature": 0, "cache_prompt": False, **what}
    request = urllib.request.Request(url + "/completion", json.dumps(body).encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.load(answer)


def score_of(url: str, text: str, rest: str) -> float:
    tokens, total = list(text.encode()), 0.0
    for token in rest.encode():
        answer = completion(url, tokens, n_predict=1, n_probs=512)
        top = answer["completion_probabilities"][0]["top_logprobs"]
        total += next(likely["logprob"] for likely in top if likely["id"] == token)
        tokens.append(token)
    return total


def samples(folder: Path, task: str) -> list:
    """What the task asked, and the answers."""
    (file,) = folder.glob(f"results/**/samples_{task}_*.jsonl")
    docs = [json.loads(line) for line in file.read_text().splitlines()]
    if len(docs) != len(common.PROMPTS):
        sys.exit(f"{task} has {len(docs)} samples")
    return [(list(asked.values()), answer) for doc in docs
            for asked, answer in zip(doc["arguments"].values(), doc["resps"])]


def main():
    url, model, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    scores_url = os.environ.get("SCORES_URL", url)
    write_tokenizer(folder / "tokenizer")
    write_tasks(folder)
    arguments = f"base_url={url}/v1/completions,model={model},tokenizer={folder}/tokenizer"
    ran = subprocess.run([Path(sys.executable).with_name("lm_eval"), "--model",
                          "local-completions", "--model_args", arguments, "--include_path", folder,
                          "--tasks", "stones_text,stones_choice", "--batch_size", "3",
                          "--log_samples", "--output_path", folder / "results"],
                         stdin=subprocess.DEVNULL, check=False)
    if ran.returncode != 0:
        sys.exit(f"lm_eval ends with {ran.returncode}")
    for (text, rest), answer in samples(folder, "stones_choice"):
        expected = score_of(scores_url, text, rest)
        if abs(float(answer[0][0]) - expected) > TOLERANCE:
            sys.exit(f"{rest!r} behind {text!r} scores {answer[0][0]}, expected {expected}")
    for (text, _), answer in samples(folder, "stones_text"):
        expected = completion(scores_url, list(text.encode()), n_predict=8, stop=["\n\n"])
        if answer[0] != expected["content"]:
            sys.exit(f"{text!r} continues with {answer[0]!r}, expected {expected['content']!r}")


if __name__ == "__main__":
    main()
