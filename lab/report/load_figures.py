"""The figures of workloads: which there are, their titles, and which way is better."""

from dataclasses import dataclass

from report.result import LoadRun, ResultError, Server
from report.summary import percentile

MS, COUNT, RATIO, MIB = "ms", "count", "ratio", "MiB"
LESS, MORE, NEITHER = "less", "more", ""


@dataclass(frozen=True)
class Workload:
    name: str
    title: str
    about: str  # Markdown


@dataclass(frozen=True)
class Figure:
    workload: str
    key: str
    title: str
    unit: str
    better: str


WORKLOADS = [
    Workload("speed", "Speed",
             "New prompts of 4,000 tokens, of which nothing can be reused, for one token each; "
             "then answers of 512 tokens to short prompts. One client, and four at once. The speed "
             "of several clients is that of all together: of prompts until the last first token, "
             "of answers while all stream."),
    Workload("crowds", "Ever more clients",
             "1, 4, 8, 16 and 32 clients ask at the same moment for 64 tokens: first with new "
             "prompts of 125 tokens, then, once all have their answers, with the next turn of the "
             "same conversation, a message of 60 tokens. Tokens/s are those of all answers from "
             "the first request to the last token. The longest gap is that between two tokens of "
             "one answer, while others wait for theirs."),
    Workload("mixed", "Long prompts beside chats",
             "Six people chat with growing conversations and pause between their turns, while "
             "every few seconds somebody sends a new prompt of 4,000 to 8,000 tokens. The schedule comes "
             "from the seed. A person whose answer is late asks later, so a slow server is asked "
             "less densely."),
    Workload("gaps", "Answers while a very long prompt is prefilled",
             "Answers stream, and after a while one very long prompt comes. A gap is the time "
             "between two pieces of one answer; *before* and *during* say whether the long prompt "
             "was being prefilled. An answer that stands still until that is done has a gap of the "
             "whole time."),
    Workload("turns", "Turns whose reasoning is left out",
             "A conversation whose answers reason. The template leaves the reasoning out once a "
             "new question comes, so each prompt diverges from the slot's content where the answer "
             "began. Between two turns the client pauses. Tokens prefilled in that pause do not "
             "count: nobody waits for them."),
    Workload("streams", "Many streams",
             "Many clients, each asking again as soon as it has its answer. A server may refuse "
             "with 503 and Retry-After: then the client comes back after that time or longer. "
             "Every stream must be whole: all tokens, a finish reason, `[DONE]`."),
]

FIGURES = [
    Figure("speed", "prompt_1", "prompt tokens/s, 1 client, as the server says", COUNT, MORE),
    Figure("speed", "prompt_1_seen", "prompt tokens/s, 1 client, as it saw", COUNT, MORE),
    Figure("speed", "prompt_n_seen", "prompt tokens/s, all clients, as they saw", COUNT, MORE),
    Figure("speed", "answer_1", "answer tokens/s, 1 client, as the server says", COUNT, MORE),
    Figure("speed", "answer_1_seen", "answer tokens/s, 1 client, as it saw", COUNT, MORE),
    Figure("speed", "answer_n_seen", "answer tokens/s, all clients, as they saw", COUNT, MORE),
    Figure("speed", "clients", "clients at once", COUNT, NEITHER),
    Figure("crowds", "new_1_tokens_per_s", "new prompts, 1 at once: tokens/s", COUNT, MORE),
    Figure("crowds", "new_1_first_p50_ms", "new prompts, 1 at once: first token, median", MS, LESS),
    Figure("crowds", "new_1_first_max_ms", "new prompts, 1 at once: first token, last", MS, LESS),
    Figure("crowds", "new_1_gap_max_ms", "new prompts, 1 at once: longest gap", MS, LESS),
    Figure("crowds", "new_4_tokens_per_s", "new prompts, 4 at once: tokens/s", COUNT, MORE),
    Figure("crowds", "new_4_first_p50_ms", "new prompts, 4 at once: first token, median", MS, LESS),
    Figure("crowds", "new_4_first_max_ms", "new prompts, 4 at once: first token, last", MS, LESS),
    Figure("crowds", "new_4_gap_max_ms", "new prompts, 4 at once: longest gap", MS, LESS),
    Figure("crowds", "new_8_tokens_per_s", "new prompts, 8 at once: tokens/s", COUNT, MORE),
    Figure("crowds", "new_8_first_p50_ms", "new prompts, 8 at once: first token, median", MS, LESS),
    Figure("crowds", "new_8_first_max_ms", "new prompts, 8 at once: first token, last", MS, LESS),
    Figure("crowds", "new_8_gap_max_ms", "new prompts, 8 at once: longest gap", MS, LESS),
    Figure("crowds", "new_16_tokens_per_s", "new prompts, 16 at once: tokens/s", COUNT, MORE),
    Figure("crowds", "new_16_first_p50_ms", "new prompts, 16 at once: first token, median", MS,
           LESS),
    Figure("crowds", "new_16_first_max_ms", "new prompts, 16 at once: first token, last", MS, LESS),
    Figure("crowds", "new_16_gap_max_ms", "new prompts, 16 at once: longest gap", MS, LESS),
    Figure("crowds", "new_32_tokens_per_s", "new prompts, 32 at once: tokens/s", COUNT, MORE),
    Figure("crowds", "new_32_first_p50_ms", "new prompts, 32 at once: first token, median", MS,
           LESS),
    Figure("crowds", "new_32_first_max_ms", "new prompts, 32 at once: first token, last", MS, LESS),
    Figure("crowds", "new_32_gap_max_ms", "new prompts, 32 at once: longest gap", MS, LESS),
    Figure("crowds", "next_1_tokens_per_s", "next turns, 1 at once: tokens/s", COUNT, MORE),
    Figure("crowds", "next_1_first_p50_ms", "next turns, 1 at once: first token, median", MS, LESS),
    Figure("crowds", "next_1_first_max_ms", "next turns, 1 at once: first token, last", MS, LESS),
    Figure("crowds", "next_1_gap_max_ms", "next turns, 1 at once: longest gap", MS, LESS),
    Figure("crowds", "next_4_tokens_per_s", "next turns, 4 at once: tokens/s", COUNT, MORE),
    Figure("crowds", "next_4_first_p50_ms", "next turns, 4 at once: first token, median", MS, LESS),
    Figure("crowds", "next_4_first_max_ms", "next turns, 4 at once: first token, last", MS, LESS),
    Figure("crowds", "next_4_gap_max_ms", "next turns, 4 at once: longest gap", MS, LESS),
    Figure("crowds", "next_8_tokens_per_s", "next turns, 8 at once: tokens/s", COUNT, MORE),
    Figure("crowds", "next_8_first_p50_ms", "next turns, 8 at once: first token, median", MS, LESS),
    Figure("crowds", "next_8_first_max_ms", "next turns, 8 at once: first token, last", MS, LESS),
    Figure("crowds", "next_8_gap_max_ms", "next turns, 8 at once: longest gap", MS, LESS),
    Figure("crowds", "next_16_tokens_per_s", "next turns, 16 at once: tokens/s", COUNT, MORE),
    Figure("crowds", "next_16_first_p50_ms", "next turns, 16 at once: first token, median", MS,
           LESS),
    Figure("crowds", "next_16_first_max_ms", "next turns, 16 at once: first token, last", MS, LESS),
    Figure("crowds", "next_16_gap_max_ms", "next turns, 16 at once: longest gap", MS, LESS),
    Figure("crowds", "next_32_tokens_per_s", "next turns, 32 at once: tokens/s", COUNT, MORE),
    Figure("crowds", "next_32_first_p50_ms", "next turns, 32 at once: first token, median", MS,
           LESS),
    Figure("crowds", "next_32_first_max_ms", "next turns, 32 at once: first token, last", MS, LESS),
    Figure("crowds", "next_32_gap_max_ms", "next turns, 32 at once: longest gap", MS, LESS),
    Figure("mixed", "first_token_p50_ms", "first token, all, median", MS, LESS),
    Figure("mixed", "first_token_p99_ms", "first token, all, p99", MS, LESS),
    Figure("mixed", "chat_first_token_p50_ms", "first token, chats, median", MS, LESS),
    Figure("mixed", "chat_first_token_p99_ms", "first token, chats, p99", MS, LESS),
    Figure("mixed", "long_first_token_p50_ms", "first token, long prompts, median", MS, LESS),
    Figure("mixed", "long_first_token_p99_ms", "first token, long prompts, p99", MS, LESS),
    Figure("mixed", "answer_tokens_per_s", "answer tokens/s, over all the time", COUNT, MORE),
    Figure("mixed", "read_tokens", "prompt tokens prefilled", COUNT, LESS),
    Figure("mixed", "total_ms", "until all was answered", MS, LESS),
    Figure("mixed", "requests", "requests", COUNT, NEITHER),
    Figure("mixed", "busy", "503 with Retry-After", COUNT, LESS),
    Figure("gaps", "before_p50_ms", "gap before, median", MS, LESS),
    Figure("gaps", "before_p99_ms", "gap before, p99", MS, LESS),
    Figure("gaps", "before_max_ms", "gap before, longest", MS, LESS),
    Figure("gaps", "during_p50_ms", "gap during, median", MS, LESS),
    Figure("gaps", "during_p99_ms", "gap during, p99", MS, LESS),
    Figure("gaps", "during_max_ms", "gap during, longest", MS, LESS),
    Figure("gaps", "p99_over_p50", "p99 during over median before", RATIO, LESS),
    Figure("gaps", "p99_over_p99", "p99 during over p99 before", RATIO, LESS),
    Figure("gaps", "before_tokens_per_s", "answer tokens/s before, all answers", COUNT, MORE),
    Figure("gaps", "during_tokens_per_s", "answer tokens/s during, all answers", COUNT, MORE),
    Figure("gaps", "speed_kept", "answer tokens/s during over before", RATIO, MORE),
    Figure("gaps", "long_tokens", "tokens of the long prompt", COUNT, NEITHER),
    Figure("gaps", "long_first_token_ms", "first token of the long prompt", MS, LESS),
    Figure("gaps", "watched", "share of the prefill in which answers still streamed",
           RATIO, NEITHER),
    Figure("turns", "message_tokens", "tokens of a new message, median", COUNT, NEITHER),
    Figure("turns", "read_tokens", "tokens prefilled a turn, median", COUNT, LESS),
    Figure("turns", "read_over_message", "prefilled over new message, median", RATIO, LESS),
    Figure("turns", "first_token_p50_ms", "first token, median", MS, LESS),
    Figure("turns", "first_token_max_ms", "first token, longest", MS, LESS),
    Figure("streams", "whole", "whole streams", COUNT, MORE),
    Figure("streams", "broken", "broken streams", COUNT, LESS),
    Figure("streams", "busy", "503 with Retry-After", COUNT, NEITHER),
    Figure("streams", "unserved", "clients refused to the very end", COUNT, LESS),
    Figure("streams", "failed", "other errors", COUNT, LESS),
    Figure("streams", "answer_tokens_per_s", "answer tokens/s", COUNT, MORE),
    Figure("streams", "first_token_p50_ms", "first token, median", MS, LESS),
    Figure("streams", "first_token_p99_ms", "first token, p99", MS, LESS),
    Figure("streams", "waited_p50_ms", "first token, refusals included, median", MS, LESS),
    Figure("streams", "waited_p99_ms", "first token, refusals included, p99", MS, LESS),
    Figure("streams", "memory_before_mib", "memory of the server before", MIB, LESS),
    Figure("streams", "memory_peak_mib", "memory of the server, peak", MIB, LESS),
]


def figures_of(workload: str) -> list[Figure]:
    return [figure for figure in FIGURES if figure.workload == workload]


def runs_of(server: Server, workload: str) -> list[LoadRun]:
    return [run for run in server.load_runs if run.workload == workload]


def median(server: Server, workload: str, key: str) -> float | None:
    """Over the runs of a workload that did not end early; None when none of them has the figure."""
    values = [run.figures[key] for run in runs_of(server, workload)
              if not run.error and key in run.figures]
    return percentile(values, 0.5) if values else None


def check_known(server: Server) -> None:
    """A figure without a title would be missing on the page."""
    known = {(figure.workload, figure.key) for figure in FIGURES}
    for run in server.load_runs:
        for key in run.figures:
            if (run.workload, key) not in known:
                raise ResultError(f"the workload '{run.workload}' has a figure '{key}' that "
                                  "lab/report/load_figures.py does not know")
