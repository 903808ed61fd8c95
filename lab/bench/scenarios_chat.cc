// Scenarios of one user with one conversation.

#include <string>
#include <utility>
#include <vector>

#include "lab/bench/scenario_writer.h"

namespace cairn {
namespace {}  // namespace

Scenario GrowingChat(const ScenarioParams& params) {
  ScenarioWriter writer("growing-chat", params);
  writer.Add(0, {writer.System(1500)});
  for (size_t turn = 0; turn < 10; ++turn) {
    writer.Say(0, 250);
    writer.AskFor(0, TurnName(turn));
  }
  return std::move(writer).Finish();
}

Scenario ReasoningStripped(const ScenarioParams& params) {
  ScenarioWriter writer("reasoning-stripped", params);
  writer.Add(0, {writer.System(2000)});
  for (size_t turn = 0; turn < 8; ++turn) {
    writer.Say(0, 200);
    Ask ask;
    ask.what = TurnName(turn);
    ask.answer_tokens_max = 32;
    ask.keep = Keep::kContent;
    ask.instead = writer.Assistant(60);
    writer.Put(AskStep{{std::move(ask)}});
  }
  return std::move(writer).Finish();
}

Scenario MovingTimestamp(const ScenarioParams& params) {
  ScenarioWriter writer("moving-timestamp", params);
  const std::string rest = writer.Prose(600);
  const auto stamped = [&rest](size_t turn) {
    return "The time is 2026-11-21T09:" + std::to_string(10 + turn) + ":00Z.\n\n" + rest;
  };
  writer.Add(0, {writer.System(2000), {"user", stamped(0)}});
  writer.AskFor(0, TurnName(0));
  for (size_t turn = 1; turn < 6; ++turn) {
    writer.Put(RewriteStep{0, 1, stamped(turn)});
    writer.Say(0, 150);
    writer.AskFor(0, TurnName(turn));
  }
  return std::move(writer).Finish();
}

Scenario EditsFurtherBack(const ScenarioParams& params) {
  constexpr size_t kTurns = 8;
  ScenarioWriter writer("edits-further-back", params);
  writer.Add(0, {writer.System(1500)});
  for (size_t turn = 0; turn < kTurns; ++turn) {
    writer.Say(0, 300);
    // The answer is long enough to show whether a server can resume from tokens it generated.
    Ask ask;
    ask.what = TurnName(turn);
    ask.answer_tokens_max = 64;
    writer.Put(AskStep{{std::move(ask)}});
  }
  for (size_t turn = kTurns; turn-- > 0;) {
    writer.Put(CopyStep{0, 1});
    writer.Put(CutStep{1, 1 + 2 * turn});
    writer.Say(1, 120);
    writer.AskFor(1, TurnName(turn) + ", edited", Keep::kDiscard);
  }
  return std::move(writer).Finish();
}

Scenario Regenerate(const ScenarioParams& params) {
  ScenarioWriter writer("regenerate", params);
  writer.Add(0, {writer.System(1500)});
  for (size_t turn = 0; turn < 3; ++turn) {
    writer.Say(0, 300);
    writer.AskFor(0, TurnName(turn), Keep::kDiscard);
    writer.AskFor(0, TurnName(turn) + ", once more", Keep::kDiscard);
    writer.AskFor(0, TurnName(turn) + ", and again");
  }
  return std::move(writer).Finish();
}

Scenario EditLast(const ScenarioParams& params) {
  ScenarioWriter writer("edit-last", params);
  writer.Add(0, {writer.System(1500)});
  for (size_t turn = 0; turn < 4; ++turn) {
    // The edit is at the end of the message: users correct the last words more than the first.
    const std::string begin = writer.Prose(250);
    for (size_t version = 0; version < 3; ++version) {
      if (version > 0) writer.Put(CutStep{0, 1 + 2 * turn});
      writer.Add(0, {{"user", begin + " " + writer.Prose(80)}});
      writer.AskFor(0, TurnName(turn) + (version == 0 ? "" : ", edited"));
    }
  }
  return std::move(writer).Finish();
}

Scenario DropOldest(const ScenarioParams& params) {
  constexpr size_t kTurnsKept = 4;
  ScenarioWriter writer("drop-oldest", params);
  writer.Add(0, {writer.System(1500)});
  for (size_t turn = 0; turn < 10; ++turn) {
    if (turn >= kTurnsKept) writer.Put(EraseStep{0, 1, 2});
    writer.Say(0, 250);
    writer.AskFor(0, TurnName(turn));
  }
  return std::move(writer).Finish();
}

Scenario Forks(const ScenarioParams& params) {
  constexpr size_t kForks = 6;
  ScenarioWriter writer("forks", params);
  writer.Add(0, {writer.System(500)});
  writer.AddHistory(0, 6000, 500);
  writer.Say(0, 100);
  writer.AskFor(0, "the long context");
  for (size_t fork = 1; fork <= kForks; ++fork) {
    writer.Put(CopyStep{0, fork});
    writer.Say(fork, 150);
    writer.AskFor(fork, "fork " + std::to_string(fork));
  }
  for (size_t fork = 1; fork <= kForks; ++fork) {
    writer.Say(fork, 100);
    writer.AskFor(fork, "fork " + std::to_string(fork) + " goes on");
  }
  return std::move(writer).Finish();
}

namespace {

Scenario LongHistory(std::string_view name, size_t tokens, const ScenarioParams& params) {
  ScenarioWriter writer(name, params);
  writer.Add(0, {writer.System(tokens / 10)});
  const size_t history = writer.AddHistory(0, tokens - tokens / 10, 750);
  writer.Say(0, 100);
  writer.AskFor(0, "the whole history");
  writer.Say(0, 200);
  writer.AskFor(0, "the next turn", Keep::kDiscard);
  writer.AskFor(0, "the next turn, once more");
  writer.Say(0, 200);
  writer.AskFor(0, "one more turn");
  writer.Put(CutStep{0, 1 + history});
  writer.Say(0, 300);
  writer.AskFor(0, "the question after the history, edited");
  writer.Put(CutStep{0, 1 + history / 2});
  writer.Say(0, 300);
  writer.AskFor(0, "a question in the middle of the history");
  return std::move(writer).Finish();
}

}  // namespace

Scenario History36k(const ScenarioParams& params) {
  return LongHistory("history-36k", 36'000, params);
}

Scenario History100k(const ScenarioParams& params) {
  return LongHistory("history-100k", 100'000, params);
}

Scenario CancelInMiddle(const ScenarioParams& params) {
  ScenarioWriter writer("cancel", params);
  const auto ask = [&](std::string what, Cancel cancel) {
    Ask asked;
    asked.what = std::move(what);
    asked.cancel = cancel;
    asked.keep = cancel == Cancel::kNever ? Keep::kAnswer : Keep::kDiscard;
    asked.answer_tokens_max = cancel == Cancel::kNever ? 16 : 64;
    writer.Put(AskStep{{std::move(asked)}});
  };
  writer.Add(0, {writer.System(1500)});
  writer.Say(0, 200);
  ask("turn 1", Cancel::kNever);
  writer.Say(0, 6000);
  ask("a long question, cancelled in its prefill", Cancel::kReading);
  ask("the long question again", Cancel::kNever);
  writer.Say(0, 200);
  ask("turn 3, stopped while it is answered", Cancel::kAnswering);
  ask("turn 3 again", Cancel::kNever);
  writer.Say(0, 200);
  ask("turn 4, stopped while it is answered", Cancel::kAnswering);
  writer.Put(CutStep{0, 7});
  writer.Say(0, 200);
  ask("turn 4, asked differently", Cancel::kNever);
  return std::move(writer).Finish();
}

Scenario Restart(const ScenarioParams& params) {
  ScenarioWriter writer("restart", params);
  writer.Add(0, {writer.System(2500)});
  writer.Put(CopyStep{0, 1});
  for (size_t turn = 0; turn < 6; ++turn) {
    if (turn == 3) writer.Put(RestartStep{});
    for (size_t i = 0; i < 2; ++i) {
      writer.Say(i, 300);
      writer.AskFor(i, TurnName(turn) + " of chat " + std::to_string(i + 1) +
                           (turn == 3 ? ", after the restart" : ""));
    }
  }
  return std::move(writer).Finish();
}

}  // namespace cairn
