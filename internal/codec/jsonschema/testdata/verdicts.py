# Writes verdicts.txt: what Python's jsonschema says to each value by each schema.
#
#   pip install jsonschema==4.26.0 && python3 verdicts.py > verdicts.txt
#
# Lines, a tab behind the first word: "value" JSON; "schema" JSON, then
# "reference" NAME TAB JSON for each, then "verdicts", a 1 (valid) or 0 for each value.
import json
from decimal import Decimal, getcontext
from jsonschema import validators
from referencing import Registry, Resource
from referencing.jsonschema import specification_with


getcontext().prec = 200


def number(text):
    d = Decimal(text)
    return int(d) if d == d.to_integral_value() else d


def parse(text):
    return json.loads(text, parse_float=number, parse_int=int)


VALUES = [
    'null', 'true', 'false', '0', '1', '-1', '5', '5.0', '5.5', '0.1', '0.3', '100', '1e2', '9007199254740992', '9007199254740993',
    '123456789012345678901234567890', '-0.05', '""', '"a"', '"ab"', '"é"', '"😀😀"', '"2024-02-29"', '"12-a"', '[]', '[1]', '[1,1.0]',
    '[1,2]', '["a",1]', '["a",1,2]', '["a","b",null]', '[[1],[1]]', '[{"a":1},{"a":1.0}]', '{}', '{"a":1}', '{"a":"x"}', '{"a":null}',
    '{"a":1,"b":2}', '{"b":2}', '{"a":{"a":{"a":1}}}', '{"a":{"a":{"a":"x"}}}', '{"x_1":1}', '{"x_1":"1"}', '{"abc":[]}', '{"kind":"cat","lives":9}',
    '{"kind":"dog"}', '{"kind":"dog","lives":9}', '{"list":[1,2,3]}', '{"list":[1,"2",3]}', '{"a":[{"b":[1]}]}', '{"n":5,"next":{"n":6,"next":{"n":7}}}',
    '{"n":5,"next":{"n":6,"next":{"n":"7"}}}', '{"a":1,"b":"x","c":true}',
]
D4, D6, D7 = ('http://json-schema.org/draft-%s/schema#' % n for n in ('04', '06', '07'))
D19, D20 = ('https://json-schema.org/draft/%s/schema' % n for n in ('2019-09', '2020-12'))
ALL, NEW, NEWEST = (D4, D6, D7, D19, D20), (D6, D7, D19, D20), (D19, D20)


def each(drafts, *schemas):
    for draft in drafts:
        for s in schemas:
            yield {'$schema': draft, **parse(s)}, {}


def cases():
    yield from each(
        ALL, '{"type":"integer"}', '{"type":["string","null"]}', '{"enum":[1,"a",null,[1],{"a":1},9007199254740993]}',
        '{"minimum":5,"maximum":100}', '{"multipleOf":0.05}', '{"multipleOf":3}', '{"minLength":2,"maxLength":2}', '{"pattern":"^[a-z]+$"}',
        '{"minItems":1,"maxItems":2,"uniqueItems":true}', '{"required":["a"],"maxProperties":1}',
        '{"properties":{"a":{"type":"number"}},"patternProperties":{"^x_":{"type":"string"}},"additionalProperties":false}',
        '{"allOf":[{"minimum":1},{"maximum":5}],"not":{"enum":[5]}}', '{"anyOf":[{"type":"string"},{"minimum":5}]}',
        '{"oneOf":[{"type":"number"},{"multipleOf":5}]}', '{"type":"object","minProperties":1,"additionalProperties":{"type":"number"}}',
        '{"definitions":{"t":{"properties":{"a":{"anyOf":[{"$ref":"#/definitions/t"},{"type":"number"}]}},"type":"object"}},"allOf":[{"$ref":"#/definitions/t"}]}',
        '{"properties":{"next":{"$ref":"#"},"n":{"type":"integer"}}}')
    yield from each((D4,), '{"minimum":5,"exclusiveMinimum":true}', '{"items":[{"type":"string"}],"additionalItems":false}', '{"dependencies":{"a":["b"],"b":{"minProperties":2}}}')
    yield from each(
        NEW, '{"const":5}', '{"const":{"a":1}}', '{"exclusiveMinimum":5}', '{"exclusiveMaximum":0.3}', '{"contains":{"type":"number"}}',
        '{"propertyNames":{"maxLength":1}}', '{"properties":{"a":false}}', '{"examples":[1],"default":1}')
    yield from each((D6, D7), '{"items":[{"type":"string"},true],"additionalItems":{"type":"null"}}', '{"dependencies":{"a":["b"],"b":{"minProperties":2}}}')
    yield from each(
        (D7, D19, D20), '{"if":{"properties":{"kind":{"const":"cat"}},"required":["kind"]},"then":{"required":["lives"]},"else":{"properties":{"lives":false}}}')
    yield from each(
        NEWEST, '{"dependentRequired":{"a":["b"]}}', '{"dependentSchemas":{"b":{"minProperties":2}}}', '{"contains":{"type":"number"},"minContains":2,"maxContains":2}',
        '{"properties":{"a":true},"unevaluatedProperties":false}', '{"anyOf":[{"properties":{"a":{"type":"number"}}},{"properties":{"b":{"type":"number"}}}],"unevaluatedProperties":{"type":"boolean"}}',
        '{"$defs":{"n":{"$anchor":"n","type":"number"}},"items":{"$ref":"#n"}}', '{"$ref":"#/$defs/n","$defs":{"n":{"type":"number"}},"maximum":5}')
    yield from each((D19,), '{"$recursiveAnchor":true,"properties":{"a":{"$recursiveRef":"#"},"b":{"type":"number"}}}', '{"items":[{"type":"string"}],"unevaluatedItems":false}')
    yield from each(
        (D20,), '{"prefixItems":[{"type":"string"}],"items":{"type":"number"}}', '{"prefixItems":[{"type":"string"}],"unevaluatedItems":{"type":"number"}}',
        '{"$id":"https://x.example/t","$dynamicAnchor":"n","properties":{"a":{"anyOf":[{"$dynamicRef":"#n"},{"type":"number"}]}},"type":"object"}')
    for draft in ALL:
        ref = {'definitions': {'n': {'type': 'number'}}, '$schema': draft}
        yield ({'$schema': draft, 'properties': {'a': {'$ref': 'https://x.example/num.json#/definitions/n'}}},
               {'https://x.example/num.json': ref})


print('\n'.join('value\t' + v for v in VALUES))
for schema, references in cases():
    registry = Registry().with_resources([(u, Resource(c, specification_with(schema['$schema']))) for u, c in references.items()])
    cls = validators.validator_for(schema)
    cls.check_schema(json.loads(json.dumps(schema, default=float)))
    v = cls(schema, registry=registry)

    def dump(s):
        return json.dumps(s, default=lambda d: float(d), separators=(',', ':'))
    print('schema\t' + dump(schema))
    for url, text in references.items():
        print('reference\t' + url + '\t' + dump(text))
    print('verdicts\t' + ''.join('1' if v.is_valid(parse(value)) else '0' for value in VALUES))
