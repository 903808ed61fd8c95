#include "chat/template/chat_template.h"

#include <thread>

#include "chat/template/template_source.h"
#include "testing/chat/test_templates.h"

namespace cairn::chat_template_test {
namespace {

using namespace test;  // NOLINT: the conversations read better

TEST(ChatTemplate, IndentsJsonAsPythonDoes) {
  EXPECT_EQ(Render(*Parsed("{{ {'a': [], 'b': {}, 'c': [1, {'d': none}]} | tojson(indent=2) }}"),
                   {.messages = {User("U")}}),
            "{\n  \"a\": [],\n  \"b\": {},\n  \"c\": [\n    1,\n    {\n      \"d\": null\n    }\n"
            "  ]\n}");
}

TEST(ChatTemplate, WritesNumbersAsTheyAre) {
  EXPECT_EQ(
      Render(
          *Parsed("{% for x in [0.5, 0.0000001, -0.25, 3, true] %}{{ x | string }} {% endfor %}"),
          {.messages = {User("U")}}),
      "0.5 1e-07 -0.25 3 True ");
}

TEST(ChatTemplate, SaysWhereABadTemplateGoesWrong) {
  const auto parsed = ChatTemplate::Parse("line one\n{% if x %}never closed", "", "");
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(parsed.error().message.find("row 2"), std::string::npos) << parsed.error().message;
  EXPECT_EQ(parsed.error().message.find('\n'), std::string::npos) << parsed.error().message;
}

TEST(ChatTemplate, ThatIsUnreadableRendersNothingAndSaysWhy) {
  const auto unreadable = ChatTemplate::Unreadable("<think>{% with x %}", "it is none");
  const auto rendered = unreadable->Render({.messages = {User("U")}}, true);
  ASSERT_FALSE(rendered.has_value());
  EXPECT_EQ(rendered.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(rendered.error().message, "it is none");
  EXPECT_EQ(unreadable->unreadable(), "it is none");
  EXPECT_EQ(unreadable->source(), "<think>{% with x %}");
  EXPECT_EQ(unreadable->learned_calls(), nullptr);
  EXPECT_FALSE(unreadable->caps().knows_tools());
}

TEST(ChatTemplate, PassesOnTheTemplatesOwnRefusal) {
  const auto chat_template = Parsed("{{ raise_exception('roles must alternate') }}");
  EXPECT_EQ(Render(*chat_template, {.messages = {User("x")}}),
            "error: the chat template refuses this conversation: roles must alternate");
}

TEST(ChatTemplate, TurnsAFailureInsideTheTemplateIntoOneSentence) {
  const auto chat_template = Parsed("a\nb {{ messages[0].nothing.more }}");
  const std::string text = Render(*chat_template, {.messages = {User("x")}});
  EXPECT_EQ(text.rfind("error: the chat template cannot render this conversation: ", 0), 0u)
      << text;
  EXPECT_EQ(text.find('\n'), std::string::npos) << text;
}

TEST(ChatTemplate, PrintsWhatTemplatesExpectToFind) {
  Conversation talk{.messages = {User("x")},
                    .template_kwargs_json = R"({"mood":"calm","bos_token":"stolen"})"};
  talk.now_unix_s = 86'400 * 365;
  EXPECT_EQ(
      Render(*Parsed("{{ bos_token }}{{ eos_token }} {{ mood }} {{ strftime_now('%Y') }}"), talk),
      "<s></s> calm 1971");
  EXPECT_EQ(
      Render(*Parsed("{{ {'a': 'ü'} | tojson(ensure_ascii=false) }} {{ [3, 4] | first }}"), talk),
      "{\"a\": \"ü\"} 3");
  EXPECT_EQ(Render(*Parsed("{{ messages[0].content | replace('x', 'yx') }}"), talk), "yx");
}

TEST(ChatTemplate, TellsTemplatesTodaysDateUnlessTheClientSetsAnother) {
  const auto dated =
      Parsed("{% if date_string is defined %}{{ date_string }}{% endif %}|{{ datetime }}");
  Conversation talk{.messages = {User("x")}};
  talk.now_unix_s = 86'400 * 365 + 43'200;
  EXPECT_EQ(Render(*dated, talk), "01 Jan 1971|Jan 01 1971");
  talk.template_kwargs_json = R"({"date_string":"26 Jul 2024"})";
  EXPECT_EQ(Render(*dated, talk), "26 Jul 2024|Jan 01 1971");
}

// As the files of Command R and Hermes 2 Pro have them.
TEST(ChatTemplate, OfAModelWithTwoUsesTheOneForToolsWhereThereAreTools) {
  const std::string usual = "usual{% for m in messages %}\n  {{ m.content }}{% endfor %}\n";
  const std::string with_tools =
      "\ntools {{ tools | tojson if tools }}{% for m in messages %} {{ m.content }}"
      "{% if m.tool_calls %}{{ m.tool_calls[0].function | tojson }}{% endif %}{% endfor %}\n  ";
  const auto both = Parsed(WithToolTemplate(usual, with_tools));
  EXPECT_TRUE(both->caps().tools);
  EXPECT_TRUE(both->caps().tool_calls);
  Conversation talk{.messages = {User("U1")}};
  EXPECT_EQ(Render(*both, talk), Render(*Parsed(usual), talk));
  EXPECT_TRUE(Render(*both, talk).starts_with("usual")) << Render(*both, talk);
  talk.tools = Tools::Parse(R"([{"type":"function","function":{"name":"f"}}])").value();
  EXPECT_EQ(Render(*both, talk), Render(*Parsed(with_tools), talk));
  EXPECT_NE(Render(*both, talk).find("\ntools [{"), std::string::npos) << Render(*both, talk);
}

TEST(ChatTemplate, PutsSystemTextInFrontOfTheNextUserMessageWhereThereIsNoSystemRole) {
  const auto chat_template = Parsed(kToolsLast);
  EXPECT_FALSE(chat_template->caps().system_role);
  EXPECT_EQ(Render(*chat_template, {.messages = {System("S1"), User("U1"), Assistant("A"),
                                                 System("S2"), User("U2")}}),
            "<s>[INST] S1\n\nU1[/INST] A</s>[INST] <system-reminder>\nS2\n</system-reminder>\n\n"
            "U2[/INST]");
  EXPECT_EQ(Render(*chat_template, {.messages = {System("S")}}), "<s>[INST] S[/INST]");
}

TEST(ChatTemplate, CallsDevelopersSystemsWhereTheTemplateKnowsNone) {
  const Message developer{.role = Role::kDeveloper, .content = "D"};
  EXPECT_NE(Render(*Builtin("chatml"), {.messages = {developer}}).find("system\nD"),
            std::string::npos);
  const auto knows =
      Parsed("{% for m in messages %}{{ m.role + m.content }}{# developer #} {% endfor %}");
  EXPECT_EQ(Render(*knows, {.messages = {developer}}), "developerD ");
}

TEST(ChatTemplate, GivesArgumentsAsObjectsOnlyWhereTheTemplateWantsThem) {
  const auto wants = Parsed(kOpenThink);
  EXPECT_TRUE(wants->caps().object_arguments);
  const std::string text =
      Render(*wants, {.messages = {User("U"), Call("f", R"({"a": "x", "n": [1, 2]})")}});
  EXPECT_NE(text.find("<function=f><parameter=a>x</parameter><parameter=n>[1, 2]</parameter>"),
            std::string::npos)
      << text;
  EXPECT_FALSE(Builtin("qwen")->caps().object_arguments);
  const std::string verbatim =
      Render(*Builtin("qwen"), {.messages = {User("U"), Call("f", R"({"a":   "x"})")}});
  EXPECT_NE(verbatim.find(R"("arguments": {"a":   "x"})"), std::string::npos) << verbatim;
}

TEST(ChatTemplate, GivesArgumentsAsObjectsWhereTheTemplateHasANotationOfItsOwn) {
  const std::string calls =
      "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}"
      "{{ c.function.name }}{% set a = c.function.arguments %}";
  const auto own = Parsed(calls +
                          "{% if a is string %}{{ a }}{% else %}{% for k, v in a | items %}"
                          "<{{ k }}>{{ v }}{% endfor %}{% endif %}{% endfor %}{% endfor %}");
  EXPECT_TRUE(own->caps().object_arguments);
  const Conversation talk = {.messages = {User("Hi"), Call("f", R"({"a":"b"})")}};
  EXPECT_EQ(Render(*own, talk), "Hif<a>b");
  const auto json =
      Parsed(calls + "{{ a if a is string else a | tojson }}{% endfor %}{% endfor %}");
  EXPECT_FALSE(json->caps().object_arguments);
  EXPECT_EQ(Render(*json, talk), R"(Hif{"a":"b"})");
}

TEST(ChatTemplate, ShowsArgumentsThatWereCutOrAreNoObject) {
  const auto wants = Parsed(kOpenThink);
  const auto shown = [&](const std::string& arguments) {
    const std::string text =
        Render(*wants, {.messages = {User("U"), Call("f", arguments), ToolAnswer("T")}});
    const size_t begin = std::min(text.find("<function=f>"), text.size());
    return text.substr(begin, text.find("</function>") - begin);
  };
  EXPECT_EQ(shown(R"({"path": "AAAA)"), "<function=f><parameter=path>AAAA</parameter>");
  EXPECT_EQ(shown(R"({"n": 1, "path":)"),
            "<function=f><parameter=n>1</parameter><parameter=path></parameter>");
  EXPECT_EQ(shown("{broken"), "<function=f><parameter=arguments>{broken</parameter>");
  EXPECT_EQ(shown("[1]"), "<function=f><parameter=arguments>[1]</parameter>");
  EXPECT_EQ(shown(""), "<function=f>");
  EXPECT_EQ(shown("null"), "<function=f>");
}

TEST(ChatTemplate, ATemplateThatParsesArgumentsItselfGetsAnObjectWhereTheyAreNone) {
  const auto parses = Parsed(
      "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name }}"
      "{% set a = c.function.arguments | from_json %}{{ c.function.arguments }}{% endfor %}"
      "{% endfor %}");
  ASSERT_FALSE(parses->caps().object_arguments);
  const auto shown = [&](const std::string& arguments) {
    return Render(*parses, {.messages = {User("U"), Call("f", arguments)}});
  };
  EXPECT_EQ(shown(R"({"a":  1})"), R"(Uf{"a":  1})");
  EXPECT_EQ(shown(R"({"a": "b)"), R"(Uf{"a":"b"})");
  EXPECT_EQ(shown("no JSON"), R"(Uf{"arguments":"no JSON"})");
}

TEST(ChatTemplate, DescribesToolsThatHaveNoDescriptionWhereTheTemplateFailsWithoutOne) {
  const Conversation talk = {
      .messages = {User("U")},
      .tools = Tools::Parse(R"([{"type":"function","function":{"name":"f"}}])").value()};
  const std::string rest = "{% for m in messages %}{{ m.content }}{% endfor %}";
  EXPECT_EQ(Render(*Parsed("{% for t in tools %}{{ t.function.name + t.function.description }}"
                           "{{ t.function.parameters | tojson }}{% endfor %}" +
                           rest),
                   talk),
            R"(f{"type": "object", "properties": {}}U)");
  EXPECT_EQ(
      Render(*Parsed("{% for t in tools %}{{ t.function | tojson }}{% endfor %}" + rest), talk),
      R"({"name": "f"}U)");
}

TEST(ChatTemplate, GivesNullContentOnlyWhereTheTemplateWantsIt) {
  const auto wants = Parsed(kNullContent);
  EXPECT_TRUE(wants->caps().null_content);
  EXPECT_EQ(Render(*wants, {.messages = {User("U"), Call("f", "{}")}}), "<user>U<call>f{}");
  EXPECT_FALSE(Builtin("chatml")->caps().null_content);
}

// As DeepSeek R1's distilled models do.
TEST(ChatTemplate, KeepsArgumentsAsTextWhereCallsShowOnlyBesideNullContent) {
  const auto wants = Parsed(kNullContent);
  EXPECT_FALSE(wants->caps().object_arguments);
  EXPECT_EQ(Render(*wants, {.messages = {User("U"), Call("f", R"({"city": "Rome"})")}}),
            R"(<user>U<call>f{"city": "Rome"})");
}

// As firefunction does, whose list of functions is a text of its own.
TEST(ChatTemplate, GivesTheToolsAsATextToATemplateThatWantsFunctions) {
  const auto prints = Parsed(
      "{{ 'Functions: ' + functions }}{% for m in messages %}<{{ m.role }}>{{ m.content }}"
      "{% for c in m.tool_calls %}{{ c.function.name }}{{ c.function.arguments | tojson }}"
      "{% endfor %}{% endfor %}");
  const Conversation talk = {.messages = {User("U"), Call("f", R"({"city":"Rome"})")}};
  ASSERT_EQ(Render(*prints, talk), R"(Functions: []<user>U<assistant>f{"city": "Rome"})");
  EXPECT_TRUE(prints->caps().tools);
  EXPECT_TRUE(prints->caps().tool_calls);
  EXPECT_TRUE(prints->caps().object_arguments);
}

TEST(ChatTemplate, TakesNoneForNoCallWhereTheCallPrintsIt) {
  const auto prints = Parsed(
      "{{ 'Functions: ' + functions }}{% for m in messages %}{{ m.content | string }}"
      "{% for c in m.tool_calls %}{{ c.function.name + ' ' }}{{ c.function.arguments | tojson }}"
      "{{ 'parameters: ' + c.function.parameters }}{% endfor %}{% endfor %}");
  EXPECT_FALSE(prints->caps().tool_calls);
}

TEST(ChatTemplate, FindsOutWhatATemplateCanDo) {
  const TemplateCaps qwen = Builtin("qwen")->caps();
  EXPECT_TRUE(qwen.system_role && qwen.tools && qwen.tool_calls && qwen.tool_responses);
  const TemplateCaps gemma = Builtin("gemma")->caps();
  EXPECT_TRUE(gemma.system_role);
  EXPECT_FALSE(gemma.tools || gemma.tool_calls || gemma.tool_responses);
  const TemplateCaps typed =
      Parsed("{% for m in messages %}{% for c in m.content %}{{ c.text }}{% endfor %}{% endfor %}")
          ->caps();
  EXPECT_TRUE(typed.typed_content);
}

// As in Ministral 3, reasoning is a part of the content, before the text.
constexpr char kThinkingParts[] =
    "{% for m in messages %}[{{ m.role }}]{% if m.content is string %}{{ m.content }}{% else %}"
    "{% for p in m.content %}{{ '[THINK]' + p.thinking + '[/THINK]' if p.type == 'thinking' else "
    "p.text }}{% endfor %}{% endif %}{% for c in m.tool_calls or [] %}[CALL]{{ c.function.name }}"
    "{{ c.function.arguments if c.function.arguments is string else c.function.arguments | tojson "
    "}}{% endfor %}{% endfor %}";

TEST(ChatTemplate, GivesReasoningInTheFieldThatTheTemplateShows) {
  const auto parts = Parsed(kThinkingParts);
  EXPECT_EQ(parts->caps().reasoning_field, ReasoningField::kThinkingPart);
  const std::vector<Message> loop = {User("U"), Call("f", "{}", "Look."), ToolAnswer("T"),
                                     Assistant("A", "So."), Assistant("B")};
  EXPECT_EQ(Render(*parts, {.messages = loop}),
            "[user]U[assistant][THINK]Look.[/THINK][CALL]f{}[tool]T"
            "[assistant][THINK]So.[/THINK]A[assistant]B");
  EXPECT_EQ(parts->reasoning_tags(), (ReasoningTags{"[THINK]", "[/THINK]", true}));
  EXPECT_EQ(parts->caps().part_separators.user, "");
  const auto field = [](const std::string& shown) {
    return Parsed("{% for m in messages %}{{ m.content }}" + shown + "{% endfor %}")
        ->caps()
        .reasoning_field;
  };
  EXPECT_EQ(field("{{ m.thinking }}"), ReasoningField::kThinking);
  EXPECT_EQ(field("{{ m['thinking'] }}"), ReasoningField::kThinking);
  EXPECT_EQ(field("{{ m.reasoning_content or m.thinking }}"), ReasoningField::kReasoningContent);
  EXPECT_EQ(field("{{ m.thinking if thinking and m.tool_calls else '' }}"),
            ReasoningField::kThinking);
  EXPECT_EQ(field(""), ReasoningField::kReasoningContent) << "it prints a list of parts as a text";
}

// As in Gemma 4's first template, results are part of the message with their calls.
constexpr char kResultsBesideCalls[] =
    "{% set ns = namespace(open=false) %}{% for m in messages %}"
    "{% if not (ns.open and m.tool_calls) %}<{{ m.role }}>{% endif %}{% set ns.open = false %}"
    "{% if m.tool_calls %}{{ m.reasoning_content or '' }}{% endif %}"
    "{% for c in m.tool_calls or [] %}[call:{{ c.function.name }}"
    "{{ c.function.arguments if c.function.arguments is string else c.function.arguments | tojson "
    "}}]{% endfor %}{% for r in m.tool_responses or [] %}"
    "[result:{{ r.name or 'unknown' }}={{ r.response }}]{% set ns.open = true %}{% endfor %}"
    "{{ m.content }}{% if m.content or not m.tool_responses %}<end>{% endif %}{% endfor %}"
    "{% if add_generation_prompt and not ns.open %}<assistant>{% endif %}";

TEST(ChatTemplate, GivesResultsBesideTheirCallsWhereTheTemplateKnowsNoToolRole) {
  const auto beside = Parsed(kResultsBesideCalls);
  EXPECT_TRUE(beside->caps().results_beside_calls);
  EXPECT_TRUE(beside->caps().tool_responses);
  EXPECT_EQ(beside->caps().part_separators.tool, "\n");
  Message two = Call("f", "{}", "Look.");
  two.tool_calls = {{"1", "f", "{}"}, {"2", "g", "{}"}};
  Message first = ToolAnswer("F");
  first.tool_call_id = "1";
  Message second = ToolAnswer("G");
  second.tool_call_id = "2";
  std::vector<Message> talk = {User("U"), two, second, first};
  const std::string loop =
      "<user>U<end><assistant>Look.[call:f{}][call:g{}][result:g=G][result:f=F]";
  EXPECT_EQ(*beside->Render({.messages = talk}, true), loop);
  talk.insert(talk.end(), {two, second, Assistant("A", "So."), User("V")});
  EXPECT_EQ(*beside->Render({.messages = talk}, true),
            loop + "Look.[call:f{}][call:g{}][result:g=G]A<end><user>V<end><assistant>");
}

TEST(ChatTemplate, KeepsATextBeforeCallsThatHaveTheirResultsBeside) {
  const auto beside = Parsed(kResultsBesideCalls);
  Message talkative = Call("f", "{}", "Look.");
  talkative.content = "I look.";
  EXPECT_EQ(*beside->Render({.messages = {User("U"), talkative, ToolAnswer("F")}}, true),
            "<user>U<end><assistant>I look.<end><assistant>Look.[call:f{}][result:f=F]");
  EXPECT_EQ(*beside->Render({.messages = {User("U"), ToolAnswer("F")}}, true),
            "<user>U<end><tool>F<end><assistant>")
      << "a result without its call";
}

TEST(ChatTemplate, LeavesResultsAMessageOfTheirOwnWhereTheTemplateHasARoleForThem) {
  const auto both = Parsed(
      "{% for m in messages %}{% if m.role == 'tool' %}[result={{ m.content }}]{% else %}"
      "<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}[{{ c.function.name }}"
      "{{ c.function.arguments }}]{% endfor %}{% for r in m.tool_responses or [] %}"
      "[result={{ r.response }}]{% endfor %}{% endif %}{% endfor %}");
  EXPECT_FALSE(both->caps().results_beside_calls);
  EXPECT_EQ(Render(*both, {.messages = {User("U"), Call("f", "{}"), ToolAnswer("F")}}),
            "<user>U<assistant>[f{}][result=F]");
}

TEST(ChatTemplate, SaysWhichFieldIsNotWhatItMustBe) {
  const auto chatml = Builtin("chatml");
  EXPECT_EQ(Render(*chatml, {.messages = {User("U")}, .template_kwargs_json = "[]"}),
            "error: chat_template_kwargs must be an object.");
  EXPECT_EQ(Render(*chatml, {.messages = std::vector<Message>(4'097)}),
            "error: messages has 4097 entries; at most 4096 are taken.");
}

TEST(ChatTemplate, EndsWhenATemplateComparesAllMessagesWithAllOthers) {
  const auto slow = Parsed(
      "{% for a in messages %}{% for b in messages %}{% for c in messages %}"
      "{{ messages[0].role if messages[0].role == messages[1].role else '' }}"
      "{% endfor %}{% endfor %}{% endfor %}");
  const std::string text = Render(*slow, {.messages = std::vector<Message>(100)});
  EXPECT_NE(text.find("too many steps"), std::string::npos) << text.substr(0, 200);
}

TEST(ChatTemplate, SurvivesLongAndStrangeText) {
  const auto qwen = Builtin("qwen");
  const std::string spaces(2'000'000, ' ');
  const std::string brackets(500'000, '{');
  const std::string text =
      Render(*qwen, {.messages = {User(spaces + "\xFF{{ x }}{% if %}"), Assistant(brackets)}});
  EXPECT_NE(text.find("{{ x }}{% if %}"), std::string::npos);
  EXPECT_NE(text.find(brackets), std::string::npos);
}

TEST(ChatTemplate, SurvivesCommentsThatWouldOverflowTheParsersStack) {
  const auto chat_template = Parsed("a{# " + std::string(300'000, 'x') + " #}b");
  EXPECT_EQ(Render(*chat_template, {.messages = {User("U")}}), "ab");
}

TEST(ChatTemplate, RendersTheSameFromManyThreadsAtOnce) {
  const auto qwen = Builtin("qwen");
  const Conversation talk{.messages = {System("S"), User("U"), Assistant("A", "R"), User("V")},
                          .tools = Tools::Parse(kWeatherTool).value()};
  const std::string expected = Render(*qwen, talk);
  std::vector<std::string> texts(8);
  std::vector<std::thread> threads;
  for (std::string& text : texts) threads.emplace_back([&] { text = Render(*qwen, talk); });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : texts) EXPECT_EQ(text, expected);
}

}  // namespace
}  // namespace cairn::chat_template_test
