#!/usr/bin/env python3
"""Prints templates with what Python's jinja2 makes of them, one JSON object a line.

The environment is that of Hugging Face's apply_chat_template. First come fixed constructs, those
here and those of jinja_constructs.txt, then COUNT random ones. An object has "template", "context",
and "out" or "error".
Usage: jinja_cases.py SEED COUNT
       jinja_cases.py --templates FOLDER [CONVERSATIONS.json]
"""
import copy
import datetime
import json
import random
import re
import sys
import warnings
from pathlib import Path

try:
    import jinja2
    import jinja2.ext
    import jinja2.sandbox
    from jinja2 import nodes
except ImportError:
    sys.exit("jinja2 is not installed (apt install python3-jinja2)")


class Generation(jinja2.ext.Extension):
    """{% generation %}: prints what is inside, in a scope of its own."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_print")
        return nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _print(self, caller):
        return caller()


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


def refuse(message):
    raise jinja2.exceptions.TemplateError(message)


def environment():
    made = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    made.filters["tojson"] = to_json
    made.globals["raise_exception"] = refuse
    made.globals["strftime_now"] = datetime.datetime(2024, 7, 26, 12, 30).strftime
    return made


warnings.simplefilter("ignore")
ENVIRONMENT = environment()
CONTEXT = {
    "s": "Hello World", "t": "  straße\tπ 日本語\n", "e": "", "q": "it's \"quoted\" \\ back",
    "i": 7, "n": -3, "z": 0, "f": 2.5, "g": -0.1, "big": 12345678901234567890, "yes": True,
    "no": False, "nil": None, "xs": [3, 1, 2], "ys": ["b", "A", "c", "a"], "zs": [],
    "mixed": [1, "a", None, 2.0, [1, 2], {"k": 1}],
    "d": {"b": 1, "a": "x", "items": 5, "C": [1, 2], "é": None},
    "deep": {"x": {"y": [{"z": 1}, {"z": 2}]}},
    "users": [{"name": "Ann", "age": 31, "tags": ["a"]}, {"name": "bob", "age": 25, "tags": []},
              {"name": "Cyd", "age": 31}],
    "text": "one two  three\nfour <b>&amp;</b>\r\nfive-six well-known seven",
}

FIXED = r"""
{{ 1 // 0 }}
{{ 1 % 0 }}
{{ 1 / 0 }}
{{ -7 % 3 }} {{ 7 % -3 }} {{ -7 // 2 }} {{ 7.5 // -2 }} {{ -7.5 % 2 }} {{ 3 / 2 }} {{ 4 / 2 }}
{{ 2 ** 10 }} {{ 2 ** -1 }} {{ 2 ** 3 ** 2 }} {{ -2 ** 2 }} {{ 2.0 ** 0.5 }} {{ 0 ** 0 }}
{{ 1e16 }} {{ 1e15 }} {{ 1e-5 }} {{ 0.0001 }} {{ 123456789.123 }} {{ 1e300 * 10 }} {{ 1.0 }} {{ 0.1 + 0.2 }}
{{ 0x1F }} {{ 0b101 }} {{ 0o17 }} {{ 1_000 }} {{ 1_0.5_0 }} {{ 12345678901234567890123 }}
{{ "a" and "b" }} {{ "" or "x" }} {{ not 0 }} {{ 0 and 1 }} {{ [] or {} }} {{ none or false }}
{{ "日本"|length }} {{ "日本語"[1:] }} {{ "日本語"[-1] }} {{ "日本語"[::-1] }} {{ t[2:7:2] }}
{{ none }} {{ true }} {{ [none, true, 1.5, "a"] }} {{ (1,) }} {{ () }} {{ {"a": [1, (2, 3)]} }}
{{ undefined_name }}|{{ undefined_name is defined }}|{{ undefined_name.x }}
{{ d.missing }}|{{ d.missing is defined }}|{{ d.missing.more }}
{{ d.items }}
{{ d["items"] }} {{ d.a }} {{ d["a"] }} {{ d.get("zz", 3) }} {{ d.get("zz") }}
{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}
{% for k in d %}{{ loop.index }}/{{ loop.length }}{{ k }}{{ "," if not loop.last }}{% endfor %}
{{ d.keys() }} {{ d.values() }} {{ d.items() }} {{ d|list }} {{ d|length }}
{{ "a" is sequence }} {{ 1 is number }} {{ true is number }} {{ true is integer }} {{ d is mapping }} {{ xs is iterable }} {{ 1 is iterable }}
{{ "a" "b" 'c' }} {{ 'it\'s' }} {{ "\u00e9\x41\n\t\\" }} {{ "\q" }} {{ "\101" }}
{{ 1 < 2 < 3 }} {{ 1 < 3 < 2 }} {{ 1 == 1.0 == true }} {{ "a" < "b" }} {{ [1, 2] < [1, 3] }} {{ (1, 2) == (1, 2) }}
{{ 1 < "a" }}
{{ none < 1 }}
{{ 1 in xs }} {{ 5 not in xs }} {{ "ell" in s }} {{ "b" in d }} {{ none in mixed }}
{{ 1 in "abc" }}
{{ 1 if true }} {{ 1 if false }}| {{ "x" if no else "y" }} {{ 1 if 0 else 2 if 0 else 3 }}
{{ [1, 2] + [3] }} {{ (1,) + (2,) }} {{ "ab" * 3 }} {{ 3 * [0] }} {{ [1] * -1 }}
{{ "a" + 1 }}
{{ 1 + "a" }}
{{ "a" ~ 1 ~ none ~ true ~ 1.0 ~ [1] }}
{{ "%s and %d, %5.2f|%-5s|%05d|%x|%r|%%" % ("a", 3, 2.345, "b", 42, 255, "q") }}
{{ "%(a)s-%(b)d" % {"a": 1, "b": 2} }} {{ "%s" % 3 }} {{ "%c%c" % (65, "b") }} {{ "%+d % d %e %g %G" % (3, 4, 12345.678, 1e-7, 1e20) }}
{{ "%s" % (1, 2) }}
{{ "{} {} {0}".format(1, 2) }}
{{ "{} {!r} {:>5}|{:<5}|{:^5}|{:05d}|{:.2f}|{:,}|{:x}|{:#x}|{:e}|{:%}".format(1, "a", "b", "c", "d", 42, 1.005, 1234567, 255, 255, 1234.5, 0.25) }}
{{ "{a.b} {c[0]} {c[1]:*^7}".format(a={"b": 1}, c=["x", "y"]) }} {{ "{0[name]}".format(users[0]) }} {{ "{{}}".format() }}
{{ "{:{w}}".format("a", w=5) }}| {{ "{:>{}}".format("a", 4) }} {{ "{:+}{: }{:-}".format(1, 2, 3) }} {{ "{:_}".format(1234567) }} {{ "{:08.3f}".format(-3.14159) }} {{ "{:g} {:.3} {}".format(1e-10, 3.14159, 1e22) }}
{{ s.upper() }} {{ s.lower() }} {{ s.title() }} {{ "hELLO".capitalize() }} {{ s.swapcase() }} {{ "ß".upper() }} {{ "STRASSE".casefold() }} {{ "ǆ".title() }}
{{ s.split() }} {{ s.split("o") }} {{ s.split("o", 1) }} {{ s.rsplit("o", 1) }} {{ " a  b ".split() }} {{ " a b c ".split(None, 1) }} {{ " a b c ".rsplit(None, 1) }} {{ "".split() }} {{ "".split(",") }}
{{ s.split("") }}
{{ text.splitlines() }} {{ text.splitlines(true) }} {{ "a\n\nb\r\n".splitlines() }}
{{ "xxaxx".strip("x") }} {{ "  a ".lstrip() }}| {{ " a  ".rstrip() }}| {{ t.strip() }} {{ "abcba".strip("ab") }}
{{ s.find("o") }} {{ s.rfind("o") }} {{ s.find("zz") }} {{ t.find("日") }} {{ s.index("W") }} {{ s.count("l") }} {{ "aaaa".count("aa") }} {{ "abc".count("") }} {{ s.find("o", 5) }} {{ s.find("o", -4, -1) }}
{{ s.index("zz") }}
{{ s.startswith("He") }} {{ s.endswith(("x", "ld")) }} {{ s.startswith("lo", 3) }} {{ s.startswith(("a", 1)) }}
{{ s.replace("l", "L") }} {{ s.replace("l", "L", 1) }} {{ "abc".replace("", "-") }} {{ "aaa".replace("a", "b", 2) }} {{ "日本".replace("", ".") }}
{{ "-".join(["a", "b"]) }} {{ "".join("日本") }} {{ ",".join(d) }}
{{ ",".join([1, 2]) }}
{{ "a=b=c".partition("=") }} {{ "a=b=c".rpartition("=") }} {{ "abc".partition("x") }} {{ "abc".rpartition("x") }}
{{ "ab".center(7, "*") }} {{ "abc".center(6) }}| {{ "a".ljust(3) }}| {{ "a".rjust(3, "0") }} {{ "-42".zfill(6) }} {{ "a\tb".expandtabs(4) }} {{ "ab".center(5, "*") }} {{ "abc".center(8, "*") }}
{{ "abc".isalpha() }} {{ "a1".isalnum() }} {{ "12".isdigit() }} {{ "²".isdigit() }} {{ "½".isnumeric() }} {{ " ".isspace() }} {{ "Ab C".istitle() }} {{ "a".isidentifier() }} {{ "AB".isupper() }} {{ "日".isalpha() }} {{ "".isascii() }} {{ "é".isascii() }} {{ "\n".isprintable() }}
{{ "unhappy".removeprefix("un") }} {{ "a.txt".removesuffix(".txt") }}
{{ "\u00a0日。x\u3000".strip() }} {{ "x。。".rstrip("。") }} {{ "日x日".strip("日") }} {{ " é ".rstrip()|length }} {{ "ǅx".swapcase() }}
{{ "١٢"|int }} {{ " -٣ "|int }} {{ "１.５"|float }} {{ "٣ ٤"|int }} {{ "²"|int }} {{ "𝟗𝟎"|int }}
{% set c = cycler(1, 2) %}{{ c.next() }}{{ c.pos }}{{ c.items }} {{ c.current }}
{% block twice %}{% endblock %}{% block twice %}{% endblock %}
{{ xs.append(1) }}
{{ d.update({}) }}
{{ d.pop("a") }}
{{ "".__class__ }}
{{ xs.__class__.__mro__ }}
{{ xs.index(1) }} {{ xs.count(3) }} {{ (1, 2, 2).count(2) }} {{ range(5).index(3) }}
{{ xs[0] }} {{ xs[-1] }} {{ xs[5] }}| {{ xs[1:] }} {{ xs[::-1] }} {{ xs[:-1] }} {{ xs[5:] }} {{ xs[-2:] }} {{ xs[2:0:-1] }} {{ xs.0 }} {{ s[0] }} {{ s[100] }}|
{{ xs[::0] }}
{{ range(3)|list }} {{ range(1, 10, 3)|list }} {{ range(5, 0, -2)|list }} {{ range(0)|list }} {{ range(3) }} {{ range(1, 5)[1:] }} {{ range(10)[2] }} {{ range(0, 10, 3) }} {{ 3 in range(5) }}
{{ range(200000)|length }}
{{ dict(a=1, b=2) }} {{ dict([("a", 1)]) }} {{ dict({"a": 1}, b=2) }} {{ namespace(a=1) }}
{% set ns = namespace(x=1, y=[]) %}{% for i in [1, 2, 3] %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }} {{ ns }} {{ ns.missing is defined }} {{ ns["x"] }}
{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = i + 10 %}{{ x }}{% endfor %}{{ x }}
{% set x = 1 %}{% if true %}{% set x = 2 %}{% endif %}{{ x }}
{% for i in [1, 2] %}{{ y is defined }}{% set y = i %}{{ y }}{% endfor %}{{ y is defined }}
{% set a, b = 1, "x" %}{{ a }}{{ b }}{% set (c, d2) = [3, 4] %}{{ c + d2 }}
{% set a, b = [1] %}
{% set x %}  block {{ i }} {% endset %}[{{ x }}]{% set y | upper | trim %}  abc {% endset %}[{{ y }}]
{% set ns = 1 %}{% set ns.x = 2 %}
{% for x in xs if x > 1 %}{{ loop.index }}{{ x }}{{ loop.last }}{% else %}none{% endfor %}
{% for x in [] %}{{ x }}{% else %}empty{% endfor %}
{% for x in xs %}{% if loop.first %}{% continue %}{% endif %}{{ x }}{% if loop.index == 2 %}{% break %}{% endif %}{% endfor %}
{% for x in xs %}{% break %}{% else %}E{% endfor %}
{% for x in xs %}{% continue %}{% else %}E{% endfor %}
{% for x in xs %}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.depth }}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.cycle("a", "b") }}{{ loop.changed(x > 2) }};{% endfor %}
{% for a, b in [(1, 2), (3, 4)] %}{{ a }}{{ b }}{% endfor %}{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}
{% for a, b in [(1, 2, 3)] %}{% endfor %}
{% for item in [{"n": 1, "c": [{"n": 2, "c": []}]}] recursive %}{{ item.n }}{{ loop.depth }}[{{ loop(item.c) }}]{% endfor %}
{% for x in xs %}{% for y in ys %}{{ loop.index }}{{ x }}{{ y }}{% endfor %}{{ loop.index }}{% endfor %}{{ loop is defined }}
{% for x in xs %}{{ loop() }}{% endfor %}
{% for c in "日本" %}{{ c }}.{% endfor %}{% for x in nil %}{% endfor %}
{% for x in undefined_name %}{{ x }}{% else %}E{% endfor %}
{% for x in 5 %}{% endfor %}
{% set ns = namespace(f=false) %}{% for x in xs if not ns.f %}{{ x }}{% set ns.f = true %}{% endfor %}
{% macro m(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ m(1) }} {{ m(1, 3) }} {{ m(b=5, a=1) }} {{ m() }}| {{ m.name }} {{ m.arguments }}
{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}
{% macro m(a) %}{% endmacro %}{{ m(b=2) }}
{% macro m(a) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, 3, x=4) }} {{ m(*[1, 2], **{"k": "v"}) }}
{% macro m() %}[{{ caller() }}]{% endmacro %}{% call m() %}in{% endcall %}{% macro n() %}{{ caller(1, 2) }}{% endmacro %}{% call(a, b) n() %}{{ a }}{{ b }}{% endcall %}
{% macro m() %}{{ caller() if caller else "no" }}{% endmacro %}{{ m() }}
{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(4) }}
{% macro a() %}{{ x }}{% endmacro %}{% set x = 5 %}{{ a() }}{% set x = 6 %}{{ a() }}
{% filter upper %}abc {{ s }}{% endfilter %} {% filter replace("a", "b") | upper %}aaa{% endfilter %}
{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a is defined }} {% with %}{% set q2 = 1 %}{% endwith %}{{ q2 is defined }}
{% raw %}{{ x }} {% if %}{% endraw %} {%- raw -%}  y  {%- endraw -%} z
{% generation %}{{ s }}{% set u = 1 %}{% endgeneration %}{{ u is defined }}
{% block b %}{{ s }}{% endblock %} {% if yes: %}a{% elif no %}b{% else %}c{% endif %}
{# comment #}a{#- c -#} b {#+ x +#} c
{{- s -}}  x  {{+ 1 }}
  {% if true %}
    a
  {% endif %}
 b  {%+ if true %} c {% endif %}  
 {{ 1 }}
  {%- for x in xs %}
  {{ x }}
  {%- endfor %}
{% print 1, 2 %}
{{ xs|sum }} {{ xs|min }} {{ xs|max }} {{ ys|min }} {{ ys|max }} {{ ys|sort }} {{ ys|sort(reverse=true) }} {{ ys|sort(case_sensitive=true) }} {{ zs|min }}| {{ users|sum(attribute="age") }} {{ ys|sort|join(",") }}
{{ users|sort(attribute="age,name")|map(attribute="name")|list }} {{ users|groupby("age")|list }} {% for k, g in users|groupby("age") %}{{ k }}{{ g|length }}{% endfor %}{% for g in users|groupby("age") %}{{ g.grouper }}{{ g.list|length }}{% endfor %}
{{ users|map(attribute="tags", default="D")|list }} {{ users|selectattr("age", "gt", 26)|map(attribute="name")|join(" ") }} {{ users|rejectattr("tags")|list|length }} {{ users|selectattr("tags", "defined")|list|length }}
{{ ys|map("upper")|list }} {{ xs|select("odd")|list }} {{ xs|reject("odd")|list }} {{ mixed|select|list }} {{ mixed|map("string")|list }} {{ ys|map("replace", "a", "z")|join }}
{{ xs|map("nonexistent")|list }}
{{ xs|nonexistent }}
{{ xs is nonexistent }}
{% if no %}{{ xs|nonexistent }}{% endif %}ok
{{ [xs, ys, zs]|first }} {{ xs|last }} {{ zs|first is defined }} {{ s|first }} {{ s|last }} {{ d|first }} {{ d|last }}
{{ xs|map("string")|last }}
{{ xs|map("string")|length }}
{{ xs|reverse|list }} {{ s|reverse }} {{ t|reverse }}
{{ [1, 2, 3, 4, 5]|batch(2)|list }} {{ [1, 2, 3]|batch(2, "x")|list }} {{ [1, 2, 3, 4, 5]|slice(3)|list }} {{ [1, 2, 3, 4]|slice(3, "f")|list }}
{{ [1, 1, 2, "a", "A"]|unique|list }} {{ ["a", "A"]|unique(true)|list }} {{ users|unique(attribute="age")|map(attribute="name")|list }}
{{ d|dictsort }} {{ {"b": 1, "A": 2}|dictsort(true) }} {{ {"b": 1, "a": 2}|dictsort(by="value", reverse=true) }} {{ d|items|list }}
{{ "3.7"|int }} {{ "abc"|int }} {{ "abc"|int(5) }} {{ "0x1f"|int(base=16) }} {{ 3.99|int }} {{ none|int }} {{ "12"|int + 1 }} {{ "1_000"|int }} {{ " 5 "|int }} {{ true|int }} {{ "0b11"|int(0, 2) }} {{ "1e3"|int }}
{{ "3.7"|float }} {{ "x"|float }} {{ "x"|float(1.5) }} {{ "1e5"|float }} {{ "inf"|float }} {{ "nan"|float }} {{ 3|float }}
{{ 2.5|round }} {{ 3.5|round }} {{ 2.567|round(2) }} {{ 2.1|round(0, "ceil") }} {{ 2.9|round(method="floor") }} {{ 1234|round(-2) }} {{ 1250|round(-2) }} {{ 42.55|round(1) }} {{ -2.5|round }} {{ 1234.5|round(-2) }}
{{ -5|abs }} {{ -5.5|abs }} {{ "a"|abs }}
{{ x|default("d") }} {{ ""|default("d") }} {{ ""|default("d", true) }} {{ none|d("n") }} {{ nil|default("n", boolean=true) }} {{ x|d }}|
{{ d|tojson }} {{ mixed|tojson }} {{ q|tojson }} {{ t|tojson }} {{ t|tojson(ensure_ascii=true) }} {{ 1.0|tojson }} {{ none|tojson }} {{ true|tojson }} {{ "\u2028\x7f\x01</script>'"|tojson }} {{ big|tojson }}
{{ deep|tojson(indent=2) }} {{ xs|tojson(separators=(",", ":")) }} {{ {"b": 1, "a": 2}|tojson(sort_keys=true) }} {{ []|tojson(indent=4) }} {{ {1: 2, none: 3, true: 4, 1.5: 6}|tojson }} {{ (1, 2)|tojson }} {{ deep|tojson(indent="--") }}
{{ x|tojson }}
{{ "a b"|title }} {{ "foo-bar (baz) [qux]"|title }} {{ "it's"|title }} {{ "ABC def"|capitalize }} {{ 5|upper }} {{ "a"|center(5) }}|
{{ "a\nb\n\nc"|indent }} {{ "a\nb"|indent(2, true) }} {{ "a\n\nb"|indent(2, blank=true) }} {{ "a\nb"|indent("> ") }} {{ ""|indent(3, true) }}|
{{ "abcdefghijklmnop"|truncate(10) }} {{ "hello big world and more"|truncate(12) }} {{ "hello big world and more"|truncate(12, true) }} {{ "hello big world"|truncate(9, false, "!", 0) }} {{ "short"|truncate(3) }}
{{ text|wordcount }} {{ text|wordwrap(10) }} {{ "averyveryverylongword short"|wordwrap(5) }} {{ "averyverylongword x"|wordwrap(5, false) }} {{ "well-known some-thing"|wordwrap(6) }} {{ "a--b word"|wordwrap(3) }}
{{ "<a href='x'>&\"</a>"|e }} {{ "<b>"|escape|escape }} {{ "<b>"|safe|e }} {{ "<b>"|e|forceescape }} {{ "<p>a  b</p> <!-- c -->d &amp; e"|striptags }} {{ "<"|e ~ "<" }} {{ ("<"|e) + "<" }} {{ "<"|e is escaped }}
{{ "a b/c?d=é&"|urlencode }} {{ {"a": 1, "b c": "d&"}|urlencode }} {{ [("x", 1)]|urlencode }} {{ 5|urlencode }}
{{ {"class": "a", "id": none, "x": 1}|xmlattr }} {{ {"a": "<"}|xmlattr(false) }}
{{ 1|filesizeformat }} {{ 999|filesizeformat }} {{ 1000|filesizeformat }} {{ 1500000|filesizeformat }} {{ 1048576|filesizeformat(true) }} {{ "2048"|filesizeformat }}
{{ "%s %s"|format("a", 1) }} {{ "%(x)d"|format(x=5) }} {{ "a"|replace("a", 5) }} {{ 121|replace(1, "x") }} {{ "aaa"|replace("a", "b", 2) }} {{ "xxaxx"|trim("x") }} {{ t|trim }} {{ 5|string + "a" }} {{ [1, "a"]|string }}
{{ [1, 2, 3]|join }} {{ [1, none, "a"]|join("-") }} {{ users|join(", ", attribute="name") }} {{ "abc"|join(".") }} {{ d|join(",") }}
{{ d|attr("items") is callable }} {{ d|attr("a") is defined }} {{ s|attr("upper")() }} {{ s is callable }} {{ d.items is callable }} {{ range is callable }}
{{ 1 is odd }} {{ 2 is even }} {{ 6 is divisibleby 3 }} {{ 6 is divisibleby(4) }} {{ "a" is lower }} {{ "A" is upper }} {{ "1" is lower }} {{ none is none }} {{ 1.0 is float }} {{ 1 is integer }} {{ true is boolean }} {{ true is true }} {{ 1 is true }} {{ false is false }} {{ 1 is eq 1 }} {{ 1 is ne 2 }} {{ 2 is gt 1 }} {{ 2 is le 2 }} {{ 1 is in [1] }} {{ "upper" is filter }} {{ "odd" is test }} {{ nil is sameas none }} {{ x is undefined }} {{ 1 is not none }} {{ 1 is not string }} {{ 2 is sameas 2 }}
{{ "a" is divisibleby 2 }}
{{ [] is sequence }} {{ {} is sequence }} {{ range(3) is sequence }} {{ xs|map("string") is sequence }} {{ xs|map("string") is iterable }} {{ none is iterable }} {{ x is iterable }} {{ "a" is iterable }} {{ 5 is mapping }}
{% set c = cycler("a", "b") %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{{ c.reset() }}{{ c.current }} {% set j = joiner("|") %}{{ j() }}{{ j() }}
{{ -i ** 2 }} {{ - 5 }} {{ +5 }} {{ not not 1 }} {{ -s }}
{{ i.real }} {{ 1.5.is_integer() }} {{ (2.0).is_integer() }} {{ (5).bit_length() }} {{ 1.0.real }}
{{ raise_exception("no") }}
{{ s.format }}{{
{{ 'a
b' }} {{ "tab	x" }}
{{ [1, 2,] }} {{ {"a": 1,} }} {{ (1, 2,) }} {{ 1, 2 }} {{ {1: "a", "1": "b", 1.0: "c", true: "d"} }}
{{ {[1]: 2} }}
{{ {"a": 1} == {"a": 1.0} }} {{ [1] == (1,) }} {{ "1" == 1 }} {{ none == false }} {{ x == y }} {{ x == none }} {{ 0 == false }} {{ 1 != 1.0 }}
{{ foo() }}
{{ s() }}
{{ none.x }}
{{ none.x.y }}
{{ 5["a"] }}| {{ xs["a"] }}| {{ s["upper"]() }} {{ d[xs] }}|
{{ xs[1.0] }}| {{ xs["1"] }}| {{ xs[true] }} {{ s[1:"a"] }}
{{ "a" if x else "b" }} {{ x ~ "a" }} {{ x|length }} {{ x|list }} {{ x|string }}| {{ x|join }}| {{ x|upper }}| {{ x or "o" }} {{ x and 1 }}| {{ not x }} {{ [x] }}
{{ x + 1 }}
{{ "a" + x }}
{{ x < 1 }}
{{ x|int }}
{{ x|abs }}
{{ loop }}
{{ 1.__class__ }}
{{ 1..real }}
{{ "abc"[1:2][0] }} {{ "%s"|format(d.a) }} {{ (d.a)[0] }} {{ [1, [2, 3]][1][0] }} {{ {"a": {"b": 1}}.a.b }} {{ "a,b".split(",")[1] }} {{ xs|first + 1 }} {{ (xs|first) + 1 }} {{ -xs|first }} {{ d.C|sum + 1 }} {{ "a" ~ "b"|upper }} {{ 1 + 2|string|length }} {{ i is odd and n is odd }} {{ not i is odd }} {{ i is odd is even }}
{% if x is defined and x.y %}1{% else %}2{% endif %}{% if s is string and s|length > 3 %}3{% endif %}{% if xs[0] == 3 and not zs %}4{% endif %}
{% endif %}
{% if %}{% endif %}
{% for %}{% endfor %}
{% unknown %}
{% if true %}
{{ 1 +  }}
{{ (1 }}
{{ [1 }}
{{ "abc }}
{{ 1 2 }}
{{ a b }}
{{ @ }}
{{ }}
{% %}
{% set %}
{% set 1 = 2 %}
{% set x.y = 2 %}
{% macro %}{% endmacro %}
{% macro m(a=1, b) %}{% endmacro %}
{% call 1 %}{% endcall %}
{% break %}
{% for loop in xs %}{% endfor %}
{# unclosed
{% raw %}unclosed
{{ s|upper|lower|title|trim|length }} {{ s | replace('o', '0') | upper }} {{ s|upper() }} {{ s|upper(1) }}
{{ s.split(sep=" ") }} {{ s.split(maxsplit=1) }} {{ s.split(bad=1) }}
{{ s.replace(old="a", new="b") }}
{{ "{}" % 1 }}
{{ "%d" % "a" }}
{{ "%q" % 1 }}
{{ "%" % 1 }}
{{ "%s %s" % ("a",) }}
{{ "%(a)s" % {"b": 1} }}
{{ "%5s|%-5s|%.2s|%05.1f|%+.1e|%#x|%o|%i|%u" % ("a", "b", "abc", 2.25, 12345, 255, 8, 3.9, 4) }}
{{ "%*d|%-*d|%.*f" % (5, 42, 5, 42, 2, 3.14159) }}
{{ "{0} {a} {0}".format(1, a=2) }} {{ "{:c}".format(65) }} {{ "{:b} {:o} {:X}".format(5, 8, 255) }} {{ "{!s:>4}|{!a}".format(1, "é") }} {{ "{:.3s}".format("abcdef") }} {{ "{:5}|{:5}".format(1, "a") }} {{ "{:=+5}".format(3) }} {{ "{:010,.2f}".format(12345.678) }} {{ "{}".format(none) }} {{ "{}".format(true) }} {{ "{:d}".format(true) }} {{ "{:>6}".format(true) }}
{{ "{:d}".format("a") }}
{{ "{:>5}".format(none) }}
{{ "{".format() }}
{{ "{a}".format() }}
{{ "{0.upper}".format("a") is string }} {{ "{x.__class__}".format(x=1) }}
""".strip("\n").split("\n")
# What spans lines.
FIXED += [
    "a\n  {% if yes %}\n  b\n  {% endif %}\nc\n", "{% for x in xs -%}\n  {{ x }}\n{%- endfor %}\n\n",
    "{{ s }}\n\n", "{% set x = 1 %}\n{{ x }}\n{#- c -#}\n  d", "  {{ s }}  \n\t{%+ if yes %}x{% endif %}",
    "{% if yes %}\r\na\r\n{% endif %}\rb", "{%- set x -%}\n  hi\n{%- endset -%}\n{{ x }}", "\n\n{{ 1 }}\n",
    "{% raw -%}\n  a {{ b }}\n{%- endraw %}\nz", "{{ '\n' }}x{{ \"a\\\nb\" }}", "{#\n multi\n#}\nx\n  {# y #}\nz",
    "{%- macro m(x) -%}\n  {{- x -}}\n{%- endmacro -%}\n{{ m('a') }}\n", "x{% if yes %}\n\n  y{% endif %}",
]
# ⏎ and ␍ stand for the ends of lines.
CONSTRUCTS = Path(__file__).with_name("jinja_constructs.txt").read_text(encoding="utf-8")
FIXED += [line.replace("⏎", "\n").replace("␍", "\r") for line in CONSTRUCTS.rstrip("\n").split("\n")]

ATOMS = ["s", "t", "e", "q", "i", "n", "z", "f", "g", "big", "yes", "no", "nil", "xs", "ys", "zs",
         "mixed", "d", "deep", "users", "text", "missing", "d.a", "d.C", "deep.x.y", "users[0]",
         "users[1].name", "1", "0", "-2", "3.5", "'ab'", "\"日本\"", "''", "'a,b,c'", "[1, 2]",
         "{'k': 'v'}", "true", "none", "(1, 'x')", "range(4)", "' pad '", "'<b>'", "1.0", "10"]
BINARY = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and",
          "or"]
# Python has no end of integers, and no end of time for them.
POWERS = ["** 2", "** 3", "** -1", "** 0.5", "** 0"]
FILTERS = ["upper", "lower", "title", "capitalize", "trim", "length", "count", "list", "string", "first",
           "last", "join", "join(',')", "join('-', attribute='name')", "reverse", "reverse|list", "sort",
           "sort(reverse=true)", "sort(attribute='age')", "unique|list", "min", "max", "sum", "abs", "int",
           "int(3)", "float", "round", "round(1)", "round(2, 'floor')", "default('D')",
           "default('D', true)", "tojson", "tojson(indent=2)", "tojson(ensure_ascii=true)", "e",
           "map('upper')|list", "map('string')|join", "map(attribute='name')|list", "select|list",
           "reject|list", "select('string')|list", "select('defined')|list", "reject('none')|list",
           "selectattr('age')|list", "selectattr('age', 'ge', 30)|list|length",
           "rejectattr('tags', 'undefined')|list", "batch(2)|list", "slice(2)|list", "batch(3, 'x')|list",
           "items|list", "dictsort", "indent", "indent(2, true)", "replace('a', 'Z')", "replace('l', '')",
           "truncate(8)", "truncate(5, true, '')", "wordcount", "center(9)", "format(1)", "urlencode",
           "striptags", "safe", "groupby('age')|length", "attr('x')", "filesizeformat", "wordwrap(7)",
           "pprint", "xmlattr", "escape|upper", "d(0)", "string|length"]
METHODS = ["upper()", "lower()", "title()", "strip()", "split()", "split(',')", "rsplit(' ', 1)",
           "splitlines()", "replace('a', 'b')", "startswith('H')", "endswith('d')", "find('o')",
           "count('a')", "isdigit()", "isupper()", "islower()", "isalpha()", "keys()|list", "values()|list",
           "items()|list", "get('a')", "get('zz', 1)", "index(1)", "capitalize()", "swapcase()",
           "zfill(6)", "center(8, '*')", "partition('l')", "removeprefix('He')", "lstrip('H')",
           "rstrip()", "format(1, 2)", "join(ys)", "istitle()", "copy()", "ljust(4)", "rfind('l')",
           "casefold()", "expandtabs()"]
TESTS = ["defined", "undefined", "none", "string", "mapping", "iterable", "sequence", "number", "integer",
         "float", "boolean", "true", "false", "odd", "even", "callable", "lower", "upper",
         "divisibleby 2", "divisibleby(3)", "in xs", "in 'Hello'", "eq 1", "ne s", "gt 0", "lt 'z'",
         "sameas none", "escaped"]
SUBSCRIPTS = ["[0]", "[-1]", "[1:]", "[:2]", "[::-1]", "[1:3]", "[-2:]", "['a']", "['b']", "['name']",
              "[i]", "[::2]", "[z]", ".a", ".name", ".x", ".0", "[1:-1]", "[5:1:-2]", "[100:]", ".y"]

KEYS = ["'k'", "1", "s", "none", "i", "'é'"]


class Writer:
    """Random templates."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def pick(self, of):
        return self.random.choice(of)

    def expression(self, depth):
        if depth <= 0:
            return self.pick(ATOMS)
        kind = self.random.random()
        inner = lambda: self.expression(depth - 1 - self.random.randrange(2))
        if kind < 0.02:
            return f"({inner()} {self.pick(POWERS)})"
        if kind < 0.22:
            return f"({inner()} {self.pick(BINARY)} {inner()})"
        if kind < 0.28:
            return f"{inner()} {self.pick(BINARY)} {inner()} {self.pick(BINARY)} {inner()}"
        if kind < 0.50:
            return f"({inner()})|{self.pick(FILTERS)}"
        if kind < 0.62:
            return f"({inner()}).{self.pick(METHODS)}"
        if kind < 0.72:
            return f"(({inner()}) is {'not ' if self.random.random() < 0.2 else ''}{self.pick(TESTS)})"
        if kind < 0.84:
            return f"({inner()}){self.pick(SUBSCRIPTS)}"
        if kind < 0.89:
            return f"({inner()} if {inner()}{' else ' + inner() if self.random.random() < 0.8 else ''})"
        if kind < 0.92:
            return f"[{inner()}, {inner()}]"
        if kind < 0.94:
            return "{" + self.pick(KEYS) + ": " + inner() + "}"
        if kind < 0.97:
            return f"(not {inner()})"
        return f"(-{inner()})"

    def space(self):
        return self.pick(["", "", "", "-", "+"])

    def tag(self, code):
        end = self.space()
        return "{%" + self.space() + " " + code + " " + end + "%}"

    def text(self):
        return self.pick(["", " ", "\n", "a", " b ", "\n  ", "  \n", "x\n", "\t", "é\n  "])

    def shown(self, depth=2):
        sign = self.pick(["", "", "", "-"])
        return "{{" + sign + " " + self.expression(depth) + " " + self.pick(["", "", "-"]) + "}}"

    def body(self, depth):
        parts = []
        for _ in range(self.random.randrange(1, 4)):
            parts.append(self.text())
            parts.append(self.statement(depth - 1) if self.random.random() < 0.5 else self.shown())
        return "".join(parts) + self.text()

    def statement(self, depth):
        if depth <= 0:
            return self.shown()
        kind = self.random.randrange(12)
        if kind < 2:
            middle = self.tag("else") + self.body(depth) if self.random.random() < 0.5 else ""
            if self.random.random() < 0.3:
                middle = self.tag("elif " + self.expression(1)) + self.body(depth) + middle
            return self.tag("if " + self.expression(2)) + self.body(depth) + middle + self.tag("endif")
        if kind < 5:
            test = " if " + self.expression(1) if self.random.random() < 0.3 else ""
            other = self.tag("else") + self.text() if self.random.random() < 0.3 else ""
            of = self.pick(["xs", "ys", "users", "d", "zs", "range(3)", "'ab'", "d.items()", self.expression(1)])
            inside = self.body(depth)
            if self.random.random() < 0.5:
                inside += "{{ loop." + self.pick(["index", "last", "first", "length", "revindex0",
                                                  "previtem", "nextitem", "cycle(1, 2)"]) + " }}"
            if self.random.random() < 0.3:
                inside += self.tag("if " + self.expression(1)) + self.tag(self.pick(["break", "continue"])) + "{% endif %}"
            return self.tag(f"for v in {of}{test}") + inside + other + self.tag("endfor")
        if kind < 7:
            name = self.pick(["v", "w", "s", "xs"])
            return self.tag(f"set {name} = {self.expression(2)}") + "{{ v }}{{ w }}"
        if kind < 8:
            return (self.tag("set w" + self.pick(["", " | upper", " | trim"])) + self.body(depth)
                    + self.tag("endset") + "[{{ w }}]")
        if kind < 9:
            return (self.tag("macro m(a, b=" + self.expression(1) + ")") + self.body(depth) + "{{ a }}{{ b }}"
                    + self.tag("endmacro") + "{{ m(" + self.expression(1) + ") }}")
        if kind < 10:
            return (self.tag("with w = " + self.expression(1)) + self.body(depth) + "{{ w }}"
                    + self.tag("endwith"))
        if kind < 11:
            return self.tag("filter " + self.pick(["upper", "trim", "replace('a', 'b')", "indent"])) + self.body(depth) + self.tag("endfilter")
        return ("{% set ns = namespace(n=0) %}" + self.tag("for v in xs") + "{% set ns.n = ns.n + v %}"
                + self.body(depth) + self.tag("endfor") + "{{ ns.n }}")

    def template(self):
        if self.random.random() < 0.6:
            return "{{ " + self.expression(self.random.randrange(1, 4)) + " }}"
        return self.body(2)


def result_of(template, context):
    try:
        return {"out": ENVIRONMENT.from_string(template).render(**copy.deepcopy(context))}
    except RecursionError as error:
        return {"error": "RecursionError: " + str(error)}
    except Exception as error:  # whatever it is, a template must not get there
        return {"error": f"{type(error).__name__}: {error}"}


# Addresses, and what a set's or a hash's order decides.
UNSTABLE = re.compile(r" at 0x|object at|<generator|<built-in|reversed|lipsum|<bound|<class|<function")


def write(template, context, unstable=UNSTABLE):
    case = {"template": template, "context": context, **result_of(template, context)}
    if unstable.search(case.get("out", "")):
        return False
    try:
        line = json.dumps(case, ensure_ascii=False)
        line.encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair
        return False
    print(line)
    return True


def main():
    sys.stdout.reconfigure(encoding="utf-8")
    if sys.argv[1] == "--templates":
        conversations = json.loads(Path(sys.argv[3]).read_text(encoding="utf-8"))
        for path in sorted(Path(sys.argv[2]).glob("*.jinja")):
            for context in conversations:
                write(path.read_text(encoding="utf-8"), context, re.compile(" at 0x"))
        return
    for template in FIXED:
        write(template, CONTEXT)
    writer = Writer(int(sys.argv[1]))
    written = 0
    while written < int(sys.argv[2]):
        if write(writer.template(), CONTEXT):
            written += 1


main()
