// Answers that are decided beforehand: the first rule whose text stands in the last message.

const kStory =
  "Once there was a path over a hill, and nobody knew where it went in the fog. Someone laid a " +
  "stone beside it. The next one laid a second stone on the first, and so it went on for years, " +
  "until the pile could be seen from the valley. ";

const kMarkup = [
  "| stone | where |", "| --- | --- |", "| granite | north |", "| slate | west |", "",
  "```", "code <script>alert(1)</script>", "```", "",
  "<img src=x onerror=alert(1)> [a link](http://example.invalid/)",
].join("\n");

const kCairn = [
  "A **cairn** is a pile of stones that marks a way.", "",
  "- It stands where paths part.", "- Whoever passes adds a stone.", "",
  "The word is `càrn` in Gaelic.",
].join("\n");

function answer(text: string, content: string, reasoning = "") {
  return { text, answer: reasoning === "" ? { content } : { reasoning, content } };
}

export const script = {
  rules: [
    answer("a cairn", kCairn, "They ask about stones. A short answer with a list will do."),
    answer(
      "Who builds them",
      "Hikers, shepherds and surveyors do, each for those who come after.",
      "Who builds cairns: hikers, mostly.",
    ),
    answer("How high", "Most are as high as a knee; a few are higher than a house."),
    answer("Show me a table", kMarkup),
    answer("Tell me a long story", kStory.repeat(25)),
  ],
};
