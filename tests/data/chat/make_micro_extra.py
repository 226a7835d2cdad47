#!/usr/bin/env python3
"""Writes micro_extra.jsonl: snippets that micro.jsonl leaves out, rendered by jinja2 3.1.6 as transformers sets it up.

Usage: make_micro_extra.py > micro_extra.jsonl     (needs: pip install jinja2==3.1.6)
"""
import datetime
import json
import sys

import jinja2
import jinja2.ext
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.CallBlock(self.call_method("_run"), [], [], body).set_lineno(line)

    def _run(self, caller):
        return caller()


class Raised(Exception):
    pass


def raise_exception(message):
    error = jinja2.exceptions.TemplateError(message)
    error.raised = True
    raise error


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
env.filters["tojson"] = tojson
env.globals["raise_exception"] = raise_exception
env.globals["strftime_now"] = lambda f: datetime.datetime(2025, 3, 14, 15, 9, 26).strftime(f)

D = {"d": {"b": 1, "a": [1, {"x": None}], "ü": "é<&>'\""}, "ms": [
    {"role": "system", "content": "S"}, {"role": "user", "content": "U1"}, {"role": "assistant", "content": "A1", "n": 2},
    {"role": "user", "content": "U2"}], "s": "Hello World\n  two\n\nthree", "f": 1.5, "big": 18446744073709551615, "neg": -7,
    "tools": [{"type": "function", "function": {"name": "zoo", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}}},
              {"type": "function", "function": {"name": "Add", "parameters": None}}]}

SNIPPETS = r"""
whitespace|a\n  {%- if true %}\n b\n  {%- endif %}\nc
whitespace|a\n {#- c -#} \n b
whitespace|{% raw %}{{ x }} {% if %}{% endraw %}|
whitespace|a {%- raw -%}  {{ y }}  {%- endraw -%}  b
whitespace|  {% raw %}\n  z\n  {% endraw %}\nq
whitespace|a\n  {{- 1 -}}  \n b
whitespace|{% if true +%}\nx{% endif %}
whitespace|{# a #}{# b +#}\nx
whitespace|\n  {% set a = 1 %}\n  {{ a }}\n
whitespace|x   {% if true %}y{% endif %}   z
whitespace|{{ {'a': {'b': 1}} }}|{{ '}}' }}|{{ "%}" }}
whitespace|a\u00a0{%- if true %} b{% endif %}
whitespace|{{ '#}' }}{# {{ nope }} #}
whitespace|é{%- set x = 'ü' -%}  {{ x }}\u3000{{- x }}
whitespace|{%- for m in ms -%}\n    {{ m.role }}\n  {%- if not loop.last %}, {% endif %}\n{%- endfor %}\n!
whitespace|{% set x -%}\n  a\n  {%- endset %}[{{ x }}]
whitespace|{{1}}{{2}}{%if 1%}{{3}}{%endif%}
whitespace|{{+1}}|{{ 2 }}
expr|{{ 1_000 }} {{ 0x1f }} {{ 0b101 }} {{ 0o17 }} {{ 1_0.5 }} {{ 1e-3 }} {{ 2E5 }}
expr|{{ 'a' 'b' "c" }} {{ 'a\tb\\n\x41\u00e9\U0001F600\101\q' }}
expr|{{ 1 + 2 * 3 - 4 }} {{ (1 + 2) * 3 }} {{ 2 ** 3 ** 2 }} {{ -2 ** 2 }} {{ 7 / 2 * 2 }}
expr|{{ 5 % 3 }} {{ -5 % 3 }} {{ 5 % -3 }} {{ 5.5 % 2 }} {{ -5.5 // 2 }} {{ 5 // -2 }} {{ 1 // 0.3 }}
expr|{{ 1 ~ 2 ~ 'a' ~ none ~ true ~ 1.0 }}
expr|{{ '%s and %d' % ('a', 3) }} {{ '%5.1f|%-6s|%+d|%x|%%' % (2.25, 'ab', 5, 255) }} {{ '%s' % 'x' }} {{ '%r' % 'x' }}
expr|{{ '%s %s' % ('a',) }}
expr|{{ '%d' % 'a' }}
expr|{{ 'a' % 1 }}
expr|{{ '%(x)s-%(y)d' % {'x': 1, 'y': 2} }}
expr|{{ [1, 2] + [3] }} {{ (1, 2) + (3,) }} {{ [0] * 3 }} {{ (1,) * 2 }} {{ 2 * 'ab' }} {{ 'ab' * -1 }}|
expr|{{ 1 in [1, 2] }} {{ 'a' in 'abc' }} {{ 'b' not in {'b': 1} }} {{ 1 in (2, 3) }} {{ 'x' in undefd }}
expr|{{ 1 in 'abc' }}
expr|{{ 1 in 5 }}
expr|{{ 3 > 2 > 1 }} {{ 3 > 2 > 2 }} {{ 1 < 2 == 2 }} {{ [1, 2] < [1, 3] }} {{ 'Z' < 'a' }} {{ (1, 'a') <= (1, 'b') }}
expr|{{ 1 < 'a' }}
expr|{{ [] < 1 }}
expr|{{ none < 1 }}
expr|{{ not 1 == 2 and 3 }} {{ 0 or '' or none }} {{ 1 and 0 and x.y.z }} {{ 'a' or x.y.z }}
expr|{{ 'a' if ms else 'b' if x else 'c' }} {{ ('q' if false) is defined }} {{ ('q' if false) ~ '|' }}
expr|{{ ('q' if false).x }}
expr|{{ (1,) }} {{ () }} {{ (1, 'a', none) }} {{ 1, 2 }} {{ {} }} {{ {'a': [1, (2,)], 3: true} }}
expr|{{ {'a': 1, 'b': 2, 'a': 3} }} {{ {1: 'x', 1.0: 'y', true: 'z'} }}
expr|{{ {[1]: 2} }}
expr|{{ d['a'][1]['x'] }} {{ d.a.1.x }} {{ d['a', 'b'] }}|{{ d.get('zz', 'def') }} {{ d['nope'] is defined }}
expr|{{ ms[0:2]|length }} {{ ms[-2:]|map(attribute='content')|list }} {{ 'héllo'[1:3] }} {{ 'héllo'[::-1] }} {{ 'héllo'[-3:-1] }} {{ (1,2,3)[::2] }} {{ [1,2,3,4][1::2] }} {{ [1,2,3,4][::-2] }} {{ [1,2,3][5:] }} {{ [1,2,3][:] }}
expr|{{ [1,2,3][::0] }}
expr|{{ none[0] }}|{{ f[0] }}|
expr|{{ d[1:] }}
expr|{{ neg[1:] }}
expr|{{ ms['a':] }}
expr|{{ d.items()[1:] }}
expr|{{ undefd[1:] }}
expr|{{ 'abc'[1.5] }}|{{ [1,2][true] }}|{{ 'abc'[9] }}|{{ [1]['a'] }}|{{ 'abc'['upper']() }}
expr|{{ big }} {{ neg // 2 }} {{ neg % 4 }} {{ f * 2 }} {{ f + 1 }} {{ 2 ** 100 }} {{ 2 ** 0.5 }} {{ (-8) // 3 }}
expr|{{ 1e16 }} {{ 123456789.123456789 }} {{ 1e-5 }} {{ 0.0001 }} {{ 1e15 }} {{ -0.0 }} {{ 5e-324 }} {{ 1.7976931348623157e308 }} {{ 1e400 }} {{ -1e400 }}
expr|{{ true + true }} {{ -true }} {{ +true }} {{ true * 3 }} {{ 1.0 == 1 }} {{ 1 == true }} {{ '1' == 1 }} {{ [1] == (1,) }} {{ none == false }} {{ undefd == none }} {{ undefd == undefd2 }}
expr|{{ -'a' }}
expr|{{ 'a' - 'b' }}
expr|{{ 'a' + 1 }}
expr|{{ 1 + 'a' }}
expr|{{ [1] + (2,) }}
expr|{{ 'a' * 'b' }}
expr|{{ 'a' + undefd }}
expr|{{ 5 % 0 }}
expr|{{ 5.0 // 0 }}
expr|{{ 0 ** -1 }}
expr|{{ ['é', '\n\t\x00\x7f\u200b\ud7ff', "it's", 'q"\'', '\\'] }}
expr|{{ d }} {{ ms[2] }} {{ [none, true, 1.5, 'x', {}] }} {{ [undefd] }} {{ 'a' ~ [1] }}
expr|{{ d.items() }} {{ d.keys() }} {{ d.values() }} {{ d.keys()|list }} {{ d.items()|length }}
expr|{{ range(3) }} {{ range(1, 10, 3) }} {{ range(5)[2] }} {{ range(5)|last }} {{ range(0)|list }} {{ 3 in range(5) }} {{ range(3)|length }}
expr|{{ range(1000000) }}
expr|{{ 1 is odd }} {{ 2 is even }} {{ 9 is divisibleby 3 }} {{ 9 is divisibleby(2) }} {{ 'A' is upper }} {{ 'a' is lower }} {{ 3 is eq 3 }} {{ 3 is gt(2) }} {{ 'x' is in 'xyz' }} {{ 'x' is in ['y'] }} {{ 1 is sameas 1 }} {{ none is sameas none }} {{ 'upper' is filter }} {{ 'odd' is test }} {{ range is callable }} {{ 3 is ge 3 }} {{ 3 is ne 3 }} {{ 3 is lt 4 }}
expr|{{ undefd is sequence }} {{ undefd is iterable }} {{ undefd is mapping }} {{ undefd is string }} {{ undefd is none }} {{ undefd is defined }} {{ d is sequence }} {{ d.items() is sequence }} {{ d.items() is iterable }} {{ range(2) is sequence }} {{ 5 is iterable }} {{ (1,) is sequence }}
expr|{{ true is true }} {{ 1 is true }} {{ false is false }} {{ 0 is false }} {{ none is false }} {{ true is integer }} {{ 1.0 is integer }} {{ 1 is float }} {{ 1 is boolean }} {{ false is boolean }} {{ '' is none }}
expr|{{ x is not defined and ms is defined }} {{ not ms is defined }} {{ 'a' is string and 1 is number or false }} {{ 1 is not string }}
expr|{{ ms|length > 3 }} {{ ms|length - 1 }} {{ 2 * ms|length }} {{ 'a' ~ ms|length ~ 'b' }} {{ 'x' + 3|string }}
expr|{{ (ms|first).role }} {{ ms|map(attribute='role')|join|upper }} {{ ms[0].content.lower().upper() }}
expr|{{ x|default('q') }} {{ ''|default('q') }} {{ ''|default('q', true) }} {{ none|default('q') }} {{ none|d('q', boolean=true) }} {{ x.y|default('w') if false else 'e' }} {{ d.zz|default({})|length }}
expr|{{ x.y|default('w') }}
expr|{{ ms[0].zzz|default('w') }} {{ ms[9]|default('w') }}
expr|{{ f is float and f > 1 }} {{ 'é' < 'z' }} {{ 'abc' == "abc" }} {{ 'a' != 'b' }}
expr|{{ dict(a=1, b='x') }} {{ dict([('k', 1), ('l', 2)]) }} {{ dict(d, b=5).b }} {{ dict() }}
expr|{{ dict([1]) }}
errors|{{ raise_exception('a' ~ "\n" ~ 'b"c') }}
errors|{% if false %}{{ x|nofilter }}{% endif %}ok
errors|{% if true %}{{ x|nofilter }}{% endif %}ok
errors|{{ 1 if true else (2 is notest) }}
errors|{{ x|nofilter }}
errors|{% for %}{% endfor %}
errors|{% endif %}
errors|{% if true %}
errors|{% foo %}
errors|{{ 1 + }}
errors|{{ (1 }}
errors|{{ [1, 2 }}
errors|{{ 'abc }}
errors|{# abc
errors|{% raw %} abc
errors|{{ 1 2 }}
errors|{{ a b }}
errors|{% set true = 1 %}
errors|{% set 1 = 1 %}
errors|{% set a.b = 1 %}
errors|{% set a = {} %}{% set a.b = 1 %}
errors|{{ ms.append(1) }}
errors|{{ ms.pop() }}
errors|{{ d.pop('a') }}
errors|{{ d.setdefault('q', 1) }}
errors|{{ [3,1].sort() }}
errors|{{ ms.append is defined }} {{ d.update is defined }}
errors|{{ ms.nope() }}
errors|{{ ''.nope() }}
errors|{{ 5() }}
errors|{{ 'a'() }}
errors|{{ undefd.a }}
errors|{{ ms[0].zzz.y }}
errors|{{ ms[0]['zzz']['y'] }}
errors|{{ ms[99].role }}
errors|{% for a, b in [(1, 2, 3)] %}{% endfor %}
errors|{% for a, b in [(1,)] %}{% endfor %}
errors|{% for a, b in [1] %}{% endfor %}
errors|{% for a in undefd %}x{% else %}none{% endfor %}
errors|{% for a in 1.5 %}x{% endfor %}
errors|{% break %}
errors|{% macro m(a, b) %}{% endmacro %}{{ m(1, c=2) }}
errors|{% macro m(a) %}{% endmacro %}{{ m(1, a=2) }}
errors|{% macro m(a=1, b) %}{% endmacro %}
errors|{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}
errors|{{ 'x'|tojson(indent='a', bad=1) }}
errors|{{ [1]|tojson(2, 3, 4, 5, 6) }}
errors|{{ range|tojson }}
errors|{{ {(1,2): 3}|tojson }}
errors|{{ ms|selectattr('role')|tojson }}
errors|{{ ms|selectattr('role')|length }}
errors|{{ (ms|map(attribute='role'))[0] }}|
errors|{{ ms|map(attribute='role.zzz')|list }}
errors|{{ ms|map(attribute='role.zzz.q')|list }}
errors|{{ ms|selectattr('role', 'nope')|list }}
errors|{{ 'a'.split('') }}
errors|{{ 'a'.index('z') }}
errors|{{ ','.join([1]) }}
errors|{{ 5|items|list }}
errors|{{ 5|length }}
errors|{{ 5|join }}
errors|{{ 5|list }}
errors|{{ 'a'|round }}
errors|{{ undefd|int }}
errors|{{ loop.index }}
errors|{{ 1 is divisibleby 0 }}
errors|{% include 'a' %}
errors|{{ ms|sort }}
errors|{{ {}|first }}|{{ []|last }}|{{ ''|first }}|{{ []|min }}|{{ undefd|last }}|{{ undefd|first }}|{{ ('<'|safe)|first is escaped }}|{{ ('<'|safe)|last is escaped }}{% for c in '<'|safe %}{{ c is escaped }}{% endfor %}
errors|{{ lipsum.__globals__ }}|
errors|{{ {}.__class__.__mro__ }}
errors|{{ ''.format.__self__ }}
errors|{{ 'a'|attr('__class__') }}|
errors|{{ '{0.__class__}'.format(1) }}|
errors|{{ '{'.format(1) }}
errors|{{ '{} {}'.format(1) }}
errors|{{ '{a}'.format(b=1) }}
stmt|{% set ns = namespace(a=1, b=[]) %}{% for i in range(3) %}{% set ns.a = ns.a + i %}{% set ns.b = ns.b + [i] %}{% endfor %}{{ ns.a }} {{ ns.b }} {{ ns.zz is defined }} {{ ns['a'] }}
stmt|{% set ns = namespace({'q': 5}, w=6) %}{{ ns.q }}{{ ns.w }}{{ ns }}
stmt|{% set x = 1 %}{% for i in [1,2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}
stmt|{% for i in [1,2,3] %}{{ y is defined }}{% set y = i %}{{ y }};{% endfor %}{{ y is defined }}
stmt|{% for i in [1,2,3] %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.depth0 }} {% endfor %}
stmt|{% for i in [1,2,3] %}{{ loop.previtem is defined }}{{ loop.previtem }}<{{ loop.nextitem|default('-') }} {% endfor %}
stmt|{% for m in ms if m.role != 'system' %}{{ loop.previtem.role if loop.previtem is defined else '^' }}{{ loop.nextitem.content if not loop.last else '$' }} {{ loop.length }};{% endfor %}
stmt|{% for i in [1,1,2,2] %}{{ loop.cycle('a','b','c') }}{{ loop.changed(i) }} {% endfor %}
stmt|{% for i in [1,2,3,4] %}{% if i == 2 %}{% continue %}{% elif i == 4 %}{% break %}{% endif %}{{ i }}{% else %}E{% endfor %}
stmt|{% for i in [1,2] %}{% continue %}{% else %}E{% endfor %}
stmt|{% for i in [1,2] %}{% break %}{% else %}E{% endfor %}
stmt|{% for i in [1,2] %}{% if i == 2 %}{% break %}{% endif %}{% else %}E{% endfor %}
stmt|{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k, v in d|dictsort %}{{ k }};{% endfor %}
stmt|{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}
stmt|{% for c in 'héy' %}{{ c }}-{% endfor %}{% for c in {'a':1} %}{{ c }}{% endfor %}
stmt|{% for i in [3,4] if i > 3 %}{{ i }}{{ loop.index }}{% else %}no{% endfor %}{% for i in [3,4] if i > 9 %}{{ i }}{% else %}no{% endfor %}
stmt|{% set ns = namespace(go=true) %}{% for i in [1,2,3] if ns.go %}{{ i }}{% set ns.go = false %}{% endfor %}
stmt|{% for x in [[1,[2]],[3]] recursive %}{% if x is iterable %}<{{ loop(x) }}>{% else %}{{ x }}@{{ loop.depth }}{% endif %}{% endfor %}
stmt|{% set g = ms|selectattr('role','eq','user') %}{% for m in g %}{{ m.content }}{% endfor %}|{% for m in g %}{{ m.content }}{% endfor %}|{{ 'y' if g else 'n' }}
stmt|{% for m in ms|selectattr('role','eq','user') %}{{ loop.length }}{{ loop.index }}{{ loop.last }};{% endfor %}
stmt|{% macro f(a, b='x', c=none) %}[{{ a }}|{{ b }}|{{ c }}]{% endmacro %}{{ f(1) }}{{ f(b=2, a=3) }}{{ f('q', c=[1]) }}{{ f() }}
stmt|{% macro f(a, b=a) %}{{ b }}{% endmacro %}{{ f(1) }}{% macro g() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ g(1, 2, k=3) }}
stmt|{% macro f(a) %}{{ a }}{% if a > 0 %}{{ f(a - 1) }}{% endif %}{% endmacro %}{{ f(3) }}
stmt|{% macro f() %}{{ x }}{% endmacro %}{% for x in [1,2] %}{{ f() }}|{% endfor %}{% set x = 9 %}{{ f() }}
stmt|{% macro outer() %}{% macro inner(z) %}<{{ z }}>{% endmacro %}{{ inner(1) }}{% endmacro %}{{ outer() }}{{ inner is defined }}
stmt|{% macro m(x) %}{% set y = x * 2 %}{{ y }}{% endmacro %}{{ m(2) }}{{ y is defined }}{{ m(3)|int + 1 }}{{ m(4) ~ 'a' }}
stmt|{% macro m(x) -%}\n   {{ x }}\n{%- endmacro %}{{ m }} {{ m.name }} {{ m.arguments }} {{ m is callable }} {{ m('a')|length }}
stmt|{% macro w(t) %}<{{ t }}>{{ caller() }}</{{ t }}>{% endmacro %}{% call w('b') %}in{{ t is defined }}{% endcall %}
stmt|{% macro w() %}{% for i in [1,2] %}{{ caller(i, j=i*2) }}{% endfor %}{% endmacro %}{% call(a, j=0) w() %}({{ a }},{{ j }}){% endcall %}
stmt|{% macro w() %}x{% endmacro %}{% call w() %}y{% endcall %}
stmt|{% macro w() %}{{ caller is defined }}{% endmacro %}{{ w() }}
stmt|{% set x %}a{{ 1 + 1 }}{% set inner = 5 %}{% endset %}{{ x }}{{ inner is defined }}{{ x is string }}
stmt|{% set x | trim | upper %}  abc {% endset %}[{{ x }}]{% set x | replace('a', 'b') %}aaa{% endset %}{{ x }}
stmt|{% set ns = namespace() %}{% set ns.x %}blk{% endset %}{{ ns.x }}
stmt|{% filter upper %}abc{{ 'd' }}{% endfilter %}{% filter replace('x', 'y') | trim %} xx {% endfilter %}
stmt|{% for i in [1,2,3] %}{% set x %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endset %}{{ x }}{% endfor %}
stmt|{% with %}{% set a = 1 %}{{ a }}{% endwith %}{{ a is defined }}{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}
stmt|{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}
stmt|{% generation %}a{% set q = 1 %}{{ q }}{% endgeneration %}{{ q is defined }}
stmt|{% for m in ms %}{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{{ loop.index }}{% endgeneration %}{% endif %}{% endfor %}
stmt|{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set (c, d) = (3, 4) %}{{ c }}{{ d }}{% set e = 1, %}{{ e }}
stmt|{% if false %}{% set z = 1 %}{% endif %}{{ z is defined }}{% if true %}{% set z = 1 %}{% endif %}{{ z }}
stmt|{% set loop_messages = ms[1:] if ms[0].role == 'system' else ms %}{{ loop_messages|length }}{% set ms = ms[1:] %}{{ ms|length }}
stmt|{% set content %}{{ ms[0].content }}{% endset %}{{ content|length }}
stmt|{% for i in range(2) %}{% for j in range(2) %}{% if j == 1 %}{% break %}{% endif %}{{ i }}{{ j }};{% endfor %}{% endfor %}
stmt|{% for i in range(3) %}{% set outer_loop = loop %}{% for j in [1] %}{{ outer_loop.index }}{{ outer_loop.last }}{% endfor %}{% endfor %}
stmt|{% print 1 + 1 %}{% if 1, 2 %}t{% endif %}
stmt|{{ strftime_now('%Y-%m-%d %H:%M:%S %d %b %Y %B %A %a %j %y %I %p %%') }} {{ strftime_now("%-d") }} {{ strftime_now('%w %U %W') }}
stmt|{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }}{% set j = joiner() %}{{ j() }}x{{ j() }}y
stmt|{% set n = namespace(a=1) %}{% set n.n = n %}{% set n.l = [n] %}{{ n }}{% for i in [1, 2] %}{{ loop }}{% endfor %}
stmt|{{ '%s' % undefd }}|{{ ns is defined }}|{{ 'x' % undefd }}
filters|{{ d|tojson(indent=2) }}|{{ []|tojson(indent=2) }}|{{ {}|tojson(indent=2) }}|{{ [[], {}]|tojson(indent=1) }}
filters|{{ tools|tojson(indent=4) }}
filters|{{ tools[0]|tojson(sort_keys=true) }} {{ d|tojson(separators=(', ', '=')) }} {{ d|tojson(indent='--') }} {{ [1]|tojson(indent=0) }}
filters|{{ 'a"\\/\b\f\n\r\t\u2028\x7f\x01é😀'|tojson }} {{ 'é😀'|tojson(ensure_ascii=true) }} {{ 'é'|tojson(true) }}
filters|{{ [1.0, 1e20, 1e-9, true, none, big, -5]|tojson }} {{ {1: 1, 1.5: 2, true: 3, none: 4}|tojson }} {{ '<b>'|safe|tojson }} {{ 1e400|tojson }}
filters|{{ s|indent }}|{{ s|indent(2, true) }}|{{ s|indent(width=2, first=true, blank=true) }}|{{ s|indent('>> ') }}|{{ ''|indent(3, true) }}|
filters|{{ 'hello wORLD-foo (bar) it\'s'|title }} {{ 'hELLO wORLD'|capitalize }} {{ 'ß straße'|capitalize }} {{ 'ab'|upper|lower }} {{ 5|upper }}|{{ none|title }}
filters|{{ d|dictsort(by='key', reverse=true) }} {{ {'b': 2, 'A': 3, 'a': 1}|dictsort }} {{ {'b': 2, 'A': 3, 'c': 1}|dictsort(true) }} {{ {'b': 2, 'a': 3}|dictsort(false, 'value') }}
filters|{{ [3, 1, 2]|sort }} {{ ['b', 'A', 'a']|sort }} {{ ['b', 'A', 'a']|sort(case_sensitive=true) }} {{ [3, 1, 2]|sort(reverse=true) }} {{ ms|sort(attribute='content')|map(attribute='content')|list }} {{ ms|sort(attribute='role,content', reverse=true)|map(attribute='content')|join }}
filters|{{ [1, 2, 1, 'a', 'A']|unique|list }} {{ ms|unique(attribute='role')|map(attribute='content')|list }} {{ ['a', 'A']|unique(true)|list }}
filters|{{ ms|selectattr('role', 'equalto', 'user')|list|length }} {{ ms|rejectattr('role', 'in', ['user', 'system'])|map(attribute='content')|first }} {{ ms|selectattr('n')|list|length }} {{ ms|rejectattr('n', 'defined')|list|length }} {{ ms|selectattr('role', '==', 'user')|map(attribute='content')|list }}
filters|{{ [1, 2, 3, 4]|select('even')|list }} {{ [1, 2, 3]|reject('gt', 1)|list }} {{ ['', 'a']|select|list }} {{ ['a', 1]|select('string')|list }} {{ [1, 5]|select('>', 3)|list }} {{ none|select|list }} {{ 0|map('upper')|list }}
filters|{{ tools|map(attribute='function')|map(attribute='name')|join(', ') }} {{ tools|map(attribute='function.name')|list }} {{ ms|map(attribute='n', default=0)|list }} {{ ms|map(attribute='n')|list }} {{ [[1, 2], [3, 4]]|map(attribute=1)|list }} {{ [[1], [2, 3]]|map('length')|list }} {{ ['a-b']|map('replace', '-', '+')|list }} {{ [' a ']|map('trim')|map('upper')|join }} {{ ms|map('tojson')|first }}
filters|{{ ms|map(attribute='content')|join(' ') }} {{ ms|join(',', attribute='role') }} {{ [1, none, 'a', true]|join('-') }} {{ 'abc'|join('.') }} {{ {'a': 1, 'b': 2}|join(',') }} {{ []|join(',') }}|{{ undefd|join }}|
filters|{{ ms|map(attribute='role')|first }} {{ ms|last|tojson }} {{ 'abc'|last }} {{ {'a': 1}|first }} {{ {'a': 1, 'b': 2}|last }} {{ [[]]|first }}
filters|{{ 'abc'|length }} {{ d|length }} {{ undefd|length }} {{ ()|count }} {{ '日本'|length }}
filters|{{ 'abc'|list }} {{ d|list }} {{ undefd|list }} {{ (1, 2)|list }} {{ d.values()|list|length }} {{ d|items|list }} {{ undefd|items|list }}
filters|{{ '42'|int }} {{ ' 42 '|int }} {{ '4_2'|int }} {{ '1e3'|int }} {{ 'abc'|int(-1) }} {{ none|int }} {{ true|int }} {{ 4.9|int }} {{ -4.9|int }} {{ '0b11'|int(base=2) }} {{ 'z'|int(base=36) }} {{ '12'|int(0, 8) }} {{ []|int }} {{ ''|int }} {{ '1.9'|int }}
filters|{{ '1.5'|float }} {{ 'abc'|float }} {{ 'x'|float(2.5) }} {{ 3|float }} {{ none|float }} {{ '1e3'|float }} {{ 'inf'|float }} {{ ' 2 '|float }} {{ '.5'|float }}
filters|{{ 1.45|round(1) }} {{ 2.675|round(2) }} {{ 1.1|round(method='ceil') }} {{ 1.9|round(0, 'floor') }} {{ 5|round }} {{ 1234.5|round(-2) }} {{ -2.5|round }} {{ 0.5|round }} {{ 3.14159|round(3)|string }} {{ 42.55|round(1, 'ceil') }}
filters|{{ -5|abs }} {{ (-5)|abs }} {{ -1.5|abs }} {{ true|abs }}
filters|{{ 'aXbXc'|replace('X', '--') }} {{ 'aaa'|replace('a', 'b', count=1) }} {{ 5|replace('5', 'five') }} {{ 'abc'|replace('', '-') }} {{ 'ab'|replace('', '-', 2) }}
filters|{{ '  x '|trim }}| {{ 'xxaxx'|trim('x') }}| {{ '\u00a0\u3000x\u2003'|trim }}| {{ 5|trim }}| {{ 'x'|trim('') }}|{{ ' x '|trim(none) }}|
filters|{{ '<a>'|safe + '<b>' }} {{ '<b>' + '<a>'|safe }} {{ '<a>'|safe ~ '<b>' }} {{ ('<a>'|safe).upper() + '<' }} {{ '<%s>'|safe % '<' }} {{ '<a>'|e|e }} {{ '<a>'|e|forceescape }} {{ ('a'|safe) == 'a' }} {{ ['<'|safe] }} {{ '<'|safe is string }} {{ '<'|safe is escaped }} {{ ('<'|safe) * 2 + '<' }} {{ ['<']|join('<'|safe) }} {{ ('<'|safe).join(['<', '>']) }} {{ '<a>'|safe|trim + '<' }} {{ '<a>'|safe|replace('a', '<') }} {{ ('a'|safe).replace('a', '<') }} {{ ('<'|safe)[0] + '<' }} {{ ('<{}>'|safe).format('<') }}
filters|{{ '%s %s'|format('a', 1) }} {{ '%.3f'|format(3.14159) }} {{ '%5d|%-5d|%05d'|format(42, 42, 42) }} {{ '%x %X %o'|format(255, 255, 8) }} {{ '%e'|format(12345.678) }} {{ '%g %g'|format(0.0001, 1e10) }} {{ '%c%c'|format('a', 98) }} {{ '%10.3s|'|format('abcdef') }} {{ '%+.1f'|format(2) }} {{ '%(n)s'|format(n='v') }} {{ '%*d'|format(5, 3) }} {{ '% d'|format(4) }} {{ '%i'|format(3.9) }}
filters|{{ [1, 2, 3, 4, 5]|batch(2)|list }} {{ [1, 2, 3]|batch(2, 'x')|list }} {{ [1, 2, 3, 4, 5]|slice(2)|list }} {{ [1, 2, 3]|slice(2, 'x')|list }} {{ [1, 2]|slice(3)|list }}
filters|{{ [1, 2, 3]|sum }} {{ ms|sum(attribute='zz', start=0) if false else 'k' }} {{ [1.5, 2]|sum }} {{ [[1], [2]]|sum(start=[]) }} {{ [{'a': 1}, {'a': 2}]|sum('a') }} {{ [3, 1]|min }} {{ ['b', 'A']|max }} {{ ms|max(attribute='content') }} {{ ['B', 'a']|min(true) }}
filters|{% for g in ms|groupby('role') %}{{ g.grouper }}:{{ g.list|length }}{{ g[0] }} {% endfor %}{% for k, v in ms|groupby('role') %}{{ k }}{{ v|map(attribute='content')|list }}{% endfor %}{{ ms|groupby('n', default=0)|length }}
filters|{{ 'foo bar baz qux quux'|truncate(9) }} {{ 'foo bar baz qux quux'|truncate(9, true) }} {{ 'foo bar baz'|truncate(9, false, '...', 0) }} {{ 'short'|truncate(10) }} {{ 'a b, c_d é'|wordcount }} {{ 'ab'|center(6) }}|
filters|{{ 'abc'|reverse }} {{ [1, 2]|reverse|list }} {{ 'héy'|reverse }} {{ {'a': 1, 'b': 2}|reverse|list }} {{ (1, 2)|reverse|first }}
filters|{{ 'a b&c=d/é'|urlencode }} {{ {'a': 'b c', 'd': 1}|urlencode }} {{ [('x', '/')]|urlencode }} {{ '<p>a &amp; b</p>  <!-- c --> d'|striptags }}
filters|{{ 1|string + 'a' }} {{ [1, 'a']|string }} {{ undefd|string }}| {{ '<'|safe|string is escaped }} {{ 1.5|string }} {{ none|string|length }}
filters|{{ 'x'|attr('upper')() }} {{ d|attr('items') is callable }} {{ d|attr('b') is defined }}
methods|{{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a b c'.split(' ', 1) }} {{ ' a b  c '.split(none, 1) }} {{ 'abc'.split('x') }} {{ ''.split(',') }} {{ ''.split() }} {{ 'a--b--c'.split('--')[-1] }} {{ 'a,b,c'.rsplit(',', 1) }} {{ ' a b '.rsplit(none, 1) }} {{ 'a,b'.split(',', maxsplit=1) }} {{ 'a\u2003b'.split() }}
methods|{{ '</think>x</think>y'.split('</think>')[-1].lstrip('\n') }} {{ '\n\nab\n'.strip('\n') }}| {{ 'xyxa'.lstrip('xy') }} {{ 'é é'.strip('é') }}| {{ 'abc'.rstrip('cb') }} {{ 'a'.strip('') }} {{ 'aXX'.rstrip('X') }}
methods|{{ 'hello'.startswith('he') }} {{ 'hello'.startswith(('x', 'h')) }} {{ 'hello'.endswith('lo', 3) }} {{ 'hello'.endswith('l', 0, 4) }} {{ 'hello'.startswith('') }} {{ 'héllo'.startswith('l', 2) }}
methods|{{ 'hello'.find('l') }} {{ 'héllo'.find('l', 3) }} {{ 'hello'.find('z') }} {{ 'hello'.rfind('l') }} {{ 'hello'.count('l') }} {{ 'aaaa'.count('aa') }} {{ 'abc'.count('') }} {{ 'hello'.index('l', 3) }} {{ 'hello'.find('h', 1) }} {{ ''.find('') }} {{ 'abc'.find('', 5) }}
methods|{{ 'they\'re bill\'s FRIENDS'.title() }} {{ 'hello World'.swapcase() }} {{ 'HELLO'.capitalize() }} {{ 'ﬁn'.upper() }} {{ 'ŉ'.title() }} {{ 'ΑΣ ΑΣΑ Σ'.lower() }} {{ 'ǆa'.capitalize() }} {{ 'Straße'.casefold() }} {{ 'İI'.lower() }}
methods|{{ 'abc'.isalpha() }} {{ 'ab1'.isalnum() }} {{ '12'.isdigit() }} {{ '١'.isdigit() }} {{ ' '.isspace() }} {{ ''.isalpha() }} {{ 'Ab'.istitle() }} {{ 'AB1'.isupper() }} {{ 'ab1'.islower() }} {{ '1'.islower() }} {{ 'é'.isascii() }} {{ '½'.isnumeric() }} {{ '1.5'.isdecimal() }}
methods|{{ 'abc'.replace('b', 'X') }} {{ 'aaa'.replace('a', 'b', 2) }} {{ 'abc'.replace('', '-') }} {{ 'a'.replace('a', 'bb').replace('b', '') }}| {{ 'abab'.replace('ab', 'x', 0) }} {{ ''.replace('', 'q') }}
methods|{{ 'a'.center(4, '*') }} {{ 'ab'.center(5, '*') }} {{ 'a'.ljust(3, '-') }} {{ 'a'.rjust(3) }} {{ '-5'.zfill(4) }} {{ 'abc'.zfill(2) }} {{ 'a\tb'.expandtabs() }}|{{ 'abc'.removeprefix('a') }} {{ 'abc'.removesuffix('c') }} {{ 'abc'.removesuffix('x') }}
methods|{{ 'a\nb\r\nc\n'.splitlines() }} {{ 'a\nb'.splitlines(true) }} {{ ''.splitlines() }} {{ 'a=b=c'.partition('=') }} {{ 'abc'.partition('=') }} {{ 'a=b=c'.rpartition('=') }} {{ 'abc'.rpartition('=') }}
methods|{{ '{} {}'.format(1, 'a') }} {{ '{1}{0}'.format('a', 'b') }} {{ '{x:>4}|{x:<4}|{x:^4}|'.format(x='a') }} {{ '{:05d} {:+d} {:,} {:.2f} {:x} {:#x} {:b} {:%} {:e}'.format(42, 5, 1234567, 3.14159, 255, 255, 5, 0.25, 12345.678) }} {{ '{{}}'.format() }} {{ '{!r}'.format('a') }} {{ '{:{w}}|'.format('a', w=4) }} {{ '{0[a]} {0.b}'.format({'a': 1, 'b': 2}) }} {{ '{:*^7}'.format('mid') }} {{ '{:5}|{:<5}|'.format(1, 2) }} {{ '{:.2}'.format('abc') }} {{ '{:6.1f}|'.format(2.25) }} {{ '{}'.format(true) }} {{ '{}'.format(none) }} {{ '{:_}'.format(1234567) }} {{ '{:08.3f}'.format(-3.14159) }} {{ '{:g}'.format(0.00001) }}
methods|{{ d.get('b') }} {{ d.get('zz') }} {{ d.get('zz', 5) }} {{ d.items()|list|first }} {{ d.keys()|join(',') }} {{ d.values()|list|length }} {{ d.copy() == d }} {{ {'items': 5}.items is callable }} {{ {'items': 5}['items'] }} {{ {'get': 1}.get('get') }}
methods|{{ [1, 2, 1].count(1) }} {{ [1, 2].index(2) }} {{ (1, 2).index(2) }} {{ (1, 1).count(1) }} {{ [1].copy() }}
methods|{{ ''.join(['a', 'b']) }} {{ ', '.join(ms|map(attribute='role')) }} {{ '-'.join('abc') }} {{ '-'.join({'a': 1, 'b': 2}) }} {{ ', '.join(d.keys()) }}
methods|{{ 'abc'.encode() }} {{ 'é\'\n'.encode('utf-8') }} {{ 'é'.encode()|length }}
methods|{{ {'items': 5}.items() }} {{ {'a': 1}.items()|list }} {{ ms[0].content.upper is callable }}|
"""


def render(source):
    try:
        return {"text": env.from_string(source).render(**D)}
    except jinja2.exceptions.TemplateError as error:
        kind = "raise_exception" if getattr(error, "raised", False) else type(error).__name__
        return {"error": {"kind": kind, "message": str(error)}}
    except RecursionError as error:
        return {"error": {"kind": "RecursionError", "message": "recursion"}}
    except Exception as error:
        return {"error": {"kind": type(error).__name__, "message": str(error)}}


print(json.dumps({"context": D}, ensure_ascii=False))
for number, line in enumerate(l for l in SNIPPETS.split("\n") if l):
    group, source = line.split("|", 1)
    # In the whitespace group \n, \r and \u.... stand for the characters themselves, elsewhere a string literal's escapes stay.
    if group == "whitespace" or group == "stmt":
        source = source.replace("\\n", "\n").replace("\\r", "\r").replace("\\u00a0", "\u00a0").replace("\\u3000", "\u3000")
    row = {"id": f"x{number:03}", "group": group, "template": source}
    row.update(render(source))
    try:
        line = json.dumps(row, ensure_ascii=False)
        line.encode()
    except UnicodeEncodeError:
        sys.exit(f"lone surrogate in {source!r}")
    print(line)
