"""Makes pictures for benchmarks and clients: PNG files of squares in random colours, small ones."""

import base64
import random
import struct
import zlib


def png_squares(width: int, height: int, square: int, seed: int) -> bytes:
    """`square`: the side of a square in pixels; it divides both sides of the picture."""
    colours = random.Random(seed)
    lines = b""
    for _ in range(height // square):
        line = b"\0" + b"".join(colours.randbytes(3) * square for _ in range(width // square))
        lines += line * square  # each line begins with 0: no filter
    return png_of(width, height, lines)


def png_of(width: int, height: int, lines: bytes) -> bytes:
    """A PNG file whose header says these sizes, whatever its lines are."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(lines)) +
            _chunk(b"IEND", b""))


def picture_part(file: bytes) -> dict:
    """A picture as a part of a chat message."""
    data = base64.b64encode(file).decode()
    return {"type": "image_url", "image_url": {"url": "data:image/png;base64," + data}}


def _chunk(name: bytes, content: bytes) -> bytes:
    checksum = struct.pack(">I", zlib.crc32(name + content))
    return struct.pack(">I", len(content)) + name + content + checksum
