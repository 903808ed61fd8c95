"""gptel in a batch Emacs: POST /v1/chat/completions through curl."""

import shutil
from pathlib import Path

import settings
from driver import Driver

TURN = Path(__file__).resolve().parents[1] / "gptel_turn.el"


class Gptel(Driver):
    name = "gptel"
    package = "gptel"
    tool = "run_command"
    needs = "Emacs and curl; `(gptel-make-openai \"local\" :host … :protocol \"http\" :stream t)`"
    notes = (
        "the driver gives it a system prompt of 7,500 characters and one tool. It writes "
        "reasoning into its buffer and sends it back as a separate answer, so each turn prefills "
        "the previous turn again."
    )

    def prepare(self, place):
        lisp = settings.filled(settings.block("gptel", "lisp"), place)
        (place.home / "settings.el").write_text(lisp)

    def command(self, place, turn, question):
        lisp = sorted((place.clients / self.package / "root").glob(
            "usr/share/emacs/site-lisp/elpa-src/*"))
        folders = [argument for folder in lisp for argument in ("-L", str(folder))]
        return [shutil.which("emacs") or "emacs", "-Q", "--batch", *folders, "-l", str(TURN),
                str(place.home / "settings.el"), str(place.work / "chat.org"), question]
