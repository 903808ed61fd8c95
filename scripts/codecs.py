#!/usr/bin/env python3
"""What each codec does to bytes, time and logits, into docs/codecs.md. Called by `make codecs`.

    codecs.py [--cairn FILE] [--prompt FILE] [--prompt-tokens N] [--tokens N] [--threads N]
              [--model NAME=FILE]… [--only NAME,…] [--out FILE] [--quick]

`cairn model codecs` measures a made model of every memory class, and those that --model names, one
after the other. What it found is kept in build/codecs, so that --only can measure some anew; the
page shows all that is there. --quick is a minute's try of the whole chain, into build/codecs.
"""

import argparse
import json
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- written by `make codecs` -->", "<!-- until here -->"
MIB = 1 << 20

# Title, architecture, layers, number type. Of each class one whose grid is verified
# (docs/architectures.md), as `make bench-peers` makes them; and recurrent states once more where no
# weight is quantised, as libllama rounds what goes through quantised ones.
MADE = {
    "qwen35": ("Qwen3.5, made", "qwen35", 4, "q8_0"),
    "qwen35-f32": ("Qwen3.5, made, f32 weights", "qwen35", 4, "f32"),
    "mamba2": ("Mamba 2, made", "mamba2", 4, "q8_0"),
    "mamba2-f32": ("Mamba 2, made, f32 weights", "mamba2", 4, "f32"),
    "gpt-oss": ("gpt-oss, made", "gpt-oss", 2, "q8_0"),
    "qwen3": ("Qwen3, made", "qwen3", 2, "q8_0"),
}


def fail(what: str):
    sys.exit(f"codecs: {what}")


def parsed():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cairn", type=Path, default=ROOT / "build" / "cairn")
    parser.add_argument("--prompt", type=Path, default=ROOT / "docs" / "ARCHITECTURE.md")
    parser.add_argument("--prompt-tokens", type=int)
    parser.add_argument("--tokens", type=int)
    parser.add_argument("--threads", type=int, default=-1, help="negative: one a core")
    parser.add_argument("--model", action="append", default=[], metavar="NAME=FILE")
    parser.add_argument("--only", default="", metavar="NAME,…")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--quick", action="store_true", help="does the chain work? A minute.")
    args = parser.parse_args()
    args.work = ROOT / "build" / ("codecs-quick" if args.quick else "codecs")
    args.prompt_tokens = args.prompt_tokens or (512 if args.quick else 4096)
    args.tokens = args.tokens or (32 if args.quick else 1000)
    args.out = args.out or (args.work / "codecs.md" if args.quick else ROOT / "docs" / "codecs.md")
    return args


def made_model(args, name: str) -> Path:
    _, architecture, layers, quant = MADE[name]
    width = 64 if args.quick else 256
    path = args.work / f"{name}.gguf"
    if not path.is_file():
        subprocess.run([args.cairn, "model", "make", architecture, path, "--width", str(width),
                        "--layers", str(layers), "--quant", quant, "--train-ctx", "262144"],
                       check=True, stdout=subprocess.DEVNULL)
    return path


def measure(args, name: str, path: Path):
    print(f"{name} ...", flush=True)
    command = [args.cairn, "model", "codecs", path, "--json", "--prompt", args.prompt,
               "--prompt-tokens", str(args.prompt_tokens), "--tokens", str(args.tokens),
               "--threads", str(args.threads)]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    if told.returncode != 0:
        fail(f"{name}: {told.stderr.strip()}")
    found = json.loads(told.stdout)
    # Where the file lay is nobody's affair.
    del found["path"]
    found["name"] = name
    (args.work / f"{name}.json").write_text(json.dumps(found, indent=2) + "\n")


def milliseconds(objects: list, speed: str) -> float:
    return sum(each["raw_bytes"] / MIB / each[speed] * 1000 for each in objects)


def codec_row(model: str, codec: dict) -> str:
    objects = codec["objects"]
    stored = sum(each["stored_bytes"] for each in objects)
    share = stored / sum(each["raw_bytes"] for each in objects)
    return (f"| {model} | `{codec['codec']}` | {stored:,} | {100 * share:.1f} % | "
            f"{milliseconds(objects, 'encode_mib_s'):.1f} | "
            f"{milliseconds(objects, 'decode_mib_s'):.1f} | {codec['logit_delta_max']:.2g} | "
            f"{codec['kl_mean']:.2g} | {codec['kl_max']:.2g} | {codec['flips']} |")


def tables(args, results: list) -> list:
    lines = [f"Up to {args.prompt_tokens:,} tokens of `{args.prompt.name}` read, then "
             f"{args.tokens:,} tokens decoded one by one, on",
             f"{platform.machine()}. Bytes and times are those of all that was set back: a "
             "snapshot, a segment, or both.", "",
             "| model | codec | bytes | share | encode ms | decode ms | max \\|Δ logit\\| | mean KL | "
             "max KL | flips |",
             "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for found in results:
        title = MADE.get(found["name"], (found["name"],))[0]
        title += f" ({found['memory_class']}, {found['position']:,} tokens)"
        for codec in found["codecs"]:
            lines.append(codec_row(title, codec))
            title = ""
    return lines


def write_page(args):
    order = [*MADE]
    results = [json.loads(path.read_text()) for path in args.work.glob("*.json")]
    results.sort(key=lambda found: (order.index(found["name"]) if found["name"] in order
                                    else len(order), found["name"]))
    unproven = [found["name"] for found in results if not found["floats_proven"]]
    if unproven:
        fail(f"no floats were found in the states of {', '.join(unproven)}")
    new = "\n".join([BEGIN, "", *tables(args, results), "", END])
    if args.quick:
        args.out.write_text(new + "\n")
        return
    page = args.out.read_text()
    if page.count(BEGIN) != 1 or page.count(END) != 1:
        fail(f"{args.out} does not say where the table goes: a line {BEGIN}, and a line {END}")
    before, rest = page.split(BEGIN)
    args.out.write_text(before + new + rest.split(END)[1])


def main():
    args = parsed()
    if not args.cairn.is_file():
        fail(f"there is no program {args.cairn}; `make build` makes it")
    args.work.mkdir(parents=True, exist_ok=True)
    models = {name: None for name in MADE}
    for named in args.model:
        name, _, path = named.partition("=")
        if not path or "/" in name:
            fail(f"--model {named}: it takes NAME=FILE, and the name is a name")
        models[name] = Path(path)
    only = set(args.only.split(",")) if args.only else set(models)
    for unknown in only - set(models):
        fail(f"--only {unknown}: there are {', '.join(models)}")
    for name, path in models.items():
        if name in only:
            measure(args, name, path or made_model(args, name))
    write_page(args)
    print(f"written: {args.out}")


if __name__ == "__main__":
    main()
