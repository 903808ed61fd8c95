import unittest

from report.text import (count_text, ms_text, per_run_text, ratio_text, small_ratio_text,
                         sooner_text, wrapped)


class Figures(unittest.TestCase):
    def test_are_as_short_as_they_may_be(self):
        for ratio, text in ((0, "-"), (1 / 3, "0.33"), (12.34, "12.3"), (1234.4, "1,234")):
            self.assertEqual(ratio_text(ratio), text)
        for ms, text in ((0, "-"), (0.844, "0.84 ms"), (12.34, "12.3 ms"), (999.4, "999 ms"),
                         (999.6, "1.00 s"), (75_000, "75.0 s")):
            self.assertEqual(ms_text(ms), text)
        self.assertEqual(small_ratio_text(0.00432), "0.0043")
        self.assertEqual(small_ratio_text(0.5), "0.50")

    def test_are_rounded_to_the_nearest(self):
        self.assertEqual([count_text(value) for value in (0.4, 0.5, 1.5, 2.5)],
                         ["0", "1", "2", "3"])
        self.assertEqual(per_run_text(7, 2), "4")
        self.assertEqual(per_run_text(7, 0), "-")


class Sentences(unittest.TestCase):
    def test_say_who_was_sooner(self):
        self.assertEqual(sooner_text(0.25), "first tokens came 4.00 times sooner")
        self.assertEqual(sooner_text(1.01), "first tokens came at the same time")
        self.assertEqual(sooner_text(3), "first tokens came 3.00 times later")
        self.assertEqual(sooner_text(0), "first tokens cannot be compared")

    def test_are_wrapped_between_words(self):
        text = wrapped("llama-server " * 20)
        self.assertTrue(all(len(line) <= 100 for line in text.split("\n")))
        self.assertFalse(any(line.startswith("server") for line in text.split("\n")))


if __name__ == "__main__":
    unittest.main()
