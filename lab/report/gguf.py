"""The architecture that a GGUF file names in its metadata.

    python3 -m report.gguf FILE
"""

import struct
import sys
from pathlib import Path
from typing import BinaryIO

KEY = b"general.architecture"
STRING, ARRAY = 8, 9
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # of plain types


def _number(file: BinaryIO, form: str) -> int:
    (number,) = struct.unpack(form, file.read(struct.calcsize(form)))
    return number


def _text(file: BinaryIO) -> bytes:
    return file.read(_number(file, "<Q"))


def _skip(file: BinaryIO, kind: int) -> None:
    if kind == STRING:
        file.seek(_number(file, "<Q"), 1)
    elif kind == ARRAY:
        item, count = _number(file, "<I"), _number(file, "<Q")
        if item in SIZES:
            file.seek(SIZES[item] * count, 1)
            return
        for _ in range(count):
            _skip(file, item)
    else:
        file.seek(SIZES[kind], 1)


def architecture(path: Path) -> str:
    """"unknown": the file is no GGUF, or does not say."""
    try:
        with path.open("rb") as file:
            if file.read(4) != b"GGUF":
                return "unknown"
            file.seek(12, 1)  # the version and the number of tensors
            for _ in range(_number(file, "<Q")):
                key, kind = _text(file), _number(file, "<I")
                if key == KEY and kind == STRING:
                    return _text(file).decode()
                _skip(file, kind)
    except (OSError, struct.error, KeyError, ValueError):
        pass
    return "unknown"


if __name__ == "__main__":
    print(architecture(Path(sys.argv[1])))
