import struct
import tempfile
import unittest
from pathlib import Path

from report.gguf import architecture


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def entry(key: bytes, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


ENTRIES = [
    entry(b"a.number", 4, struct.pack("<I", 7)),
    entry(b"a.list", 9, struct.pack("<IQ", 6, 2) + bytes(8)),
    # A text that mentions the key is not the key.
    entry(b"tokens", 9, struct.pack("<IQ", 8, 2) + text(b"general.architecture") + text(b"")),
    entry(b"lists", 9, struct.pack("<IQ", 9, 1) + struct.pack("<IQ", 0, 3) + bytes(3)),
    entry(b"general.architecture", 8, text(b"falcon-h1"))]


class TheArchitecture(unittest.TestCase):
    def of(self, data: bytes) -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.gguf"
            path.write_bytes(data)
            return architecture(path)

    def test_is_found_wherever_the_metadata_has_it(self):
        head = b"GGUF" + struct.pack("<IQQ", 3, 0, len(ENTRIES))
        self.assertEqual(self.of(head + b"".join(ENTRIES)), "falcon-h1")
        self.assertEqual(self.of(head + b"".join(reversed(ENTRIES))), "falcon-h1")

    def test_of_a_file_that_does_not_say_is_unknown(self):
        head = b"GGUF" + struct.pack("<IQQ", 3, 0, 4)
        self.assertEqual(self.of(head + b"".join(ENTRIES[:4])), "unknown")
        self.assertEqual(self.of(head + ENTRIES[0]), "unknown", "it ends early")
        self.assertEqual(self.of(b"no GGUF"), "unknown")
        self.assertEqual(architecture(Path("/nowhere.gguf")), "unknown")


if __name__ == "__main__":
    unittest.main()
