"""Pictures that are broken, huge, or very many."""

import threading
import time

from abuse.many import PICTURE, content
from abuse.wire import (CLOSED, LEFT, Aim, Outcome, Scale, at_once, connect, repeat,
                        request_bytes, reset)
from bench.pictures import picture_part, png_of, png_squares

PICTURES_PER_REQUEST = 14


def broken_pictures() -> dict[str, bytes]:
    noise = bytes(i * 131 % 251 for i in range(4096))
    return {
        "half a PNG": PICTURE[:len(PICTURE) // 2],
        "noise behind a PNG's header": PICTURE[:20] + noise,
        "noise": noise,
        "no byte": b"",
        "60,000 pixels a side": png_of(60_000, 60_000, b""),
        "64 million pixels, and no line": png_of(16_000, 4_000, bytes(1000)),
        "16 pixels a side, and 64 MiB of lines": png_of(16, 16, bytes(64 << 20)),
        "a GIF": b"GIF89a\xff\xff\xff\xff\xf7\x00\x00" + noise,
        "a JPEG": b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01" + noise,
        "a BMP": b"BM" + noise[:52] + noise,
        "a recording": b"RIFF\xff\xff\xff\xffWAVEfmt " + noise,
    }


def play_broken(aim: Aim, scale: Scale) -> Outcome:
    return repeat(aim, scale, [
        (name, request_bytes(aim, "/v1/chat/completions", content([picture_part(file)])))
        for name, file in broken_pictures().items()])


def _of_many(aim: Aim, scale: Scale, number: int) -> bytes:
    """A request with pictures that no other request has."""
    parts = [picture_part(png_squares(256, 256, 8, number * PICTURES_PER_REQUEST + i))
             for i in range(PICTURES_PER_REQUEST if scale.share == 1 else 2)]
    return request_bytes(aim, "/v1/chat/completions", content(parts))


def play_many(aim: Aim, scale: Scale) -> Outcome:
    """Requests with many pictures each, whose clients leave at once."""
    outcome = Outcome()
    for number in range(scale.many(80)):
        data = _of_many(aim, scale, number)
        try:
            link = connect(aim.port)
            link.sendall(data)
            time.sleep(0.05)
            reset(link)
            outcome.add(LEFT)
        except OSError:
            outcome.add(CLOSED)
    return outcome


def play_waiting(aim: Aim, scale: Scale) -> Outcome:
    """The same, by clients that stay."""
    outcomes, lock = Outcome(), threading.Lock()

    def stay(number: int):
        mine = repeat(aim, scale, [("pictures", _of_many(aim, scale, 1_000 + number))])
        with lock:
            outcomes.add_all(mine)

    at_once(scale.many(16), stay)
    return outcomes
