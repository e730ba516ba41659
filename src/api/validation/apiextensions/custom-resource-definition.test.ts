import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CustomResourceDefinition } from '../../apiextensions/custom-resource-definition.ts';
import { CustomResourceDefinitionSchema } from '../../apiextensions/custom-resource-definition.ts';
import { defaultCustomResourceDefinition } from '../../defaults/default-custom-resource-definition.ts';
import { decode } from '../../schema/decode.ts';
import type { JsonSchema } from '../../structural/json-schema.ts';
import { formatFieldError } from '../field-error.ts';
import { crdWarnings } from './crd-warnings.ts';
import {
  validateCustomResourceDefinition,
  validateCustomResourceDefinitionUpdate,
} from './validate-custom-resource-definition.ts';

const version = (openAPIV3Schema: JsonSchema, more: object = {}): object => ({
  name: 'v1',
  served: true,
  storage: true,
  schema: { openAPIV3Schema },
  ...more,
});

function definition(versions: readonly object[], spec: object = {}, metadata: object = {}): CustomResourceDefinition {
  const { value } = decode(CustomResourceDefinitionSchema, {
    metadata: { name: 'things.example.com', ...metadata },
    spec: { group: 'example.com', scope: 'Namespaced', names: { plural: 'things', kind: 'Thing' }, versions, ...spec },
  });
  return defaultCustomResourceDefinition(value);
}

const problems = (value: CustomResourceDefinition): readonly string[] =>
  validateCustomResourceDefinition(value).map(formatFieldError);
const plain: JsonSchema = { type: 'object' };
const v = 'spec.validation.openAPIV3Schema';

describe('a custom resource definition', () => {
  it('gets its missing names, its conversion and its stored version', () => {
    const { spec, status } = definition([version(plain)]);
    assert.deepEqual(
      [spec.names, spec.conversion, status?.storedVersions],
      [{ plural: 'things', singular: 'thing', kind: 'Thing', listKind: 'ThingList' }, { strategy: 'None' }, ['v1']],
    );
  });

  it('loses fields that no schema has', () => {
    const odd = { type: 'object', odd: 1 } as JsonSchema;
    assert.deepEqual(definition([version(odd)]).spec.versions[0]?.schema?.openAPIV3Schema, { type: 'object' });
  });

  it('has at most as many names as its status can repeat', () => {
    const named = (count: number, field: string): readonly string[] => {
      const list = Array.from({ length: count }, (_, index) => `n${index}`);
      return problems(definition([version(plain)], { names: { plural: 'things', kind: 'Thing', [field]: list } }));
    };
    for (const field of ['shortNames', 'categories']) {
      assert.deepEqual(named(2000, field), []);
      assert.deepEqual(named(20_000, field), [`spec.names.${field}: Too many: 20000: must have at most 2000 items`]);
    }
  });

  it('passes in its simplest form', () => assert.deepEqual(problems(definition([version(plain)])), []));

  const cases: readonly [string, CustomResourceDefinition, string][] = [
    [
      'another name',
      definition([version(plain)], {}, { name: 'x.example.com' }),
      'metadata.name: Invalid value: "x.example.com": must be spec.names.plural+"."+spec.group',
    ],
    [
      'a group without a dot',
      definition([version(plain)], { group: 'example' }),
      'spec.group: Invalid value: "example": should be a domain with at least one dot',
    ],
    [
      'no schema',
      definition([{ name: 'v1', served: true, storage: true }]),
      'spec.versions[0].schema.openAPIV3Schema: Required value',
    ],
    [
      'two storage versions',
      definition([version(plain), version(plain, { name: 'v2' })]),
      'spec.versions: Invalid value: ["v1","v2"]: must have exactly one version marked as storage version',
    ],
    ['no type at the root', definition([version({})]), `${v}.type: Required value: must not be empty at the root`],
    [
      'a default of a wrong type',
      definition([version({ type: 'object', properties: { a: { type: 'integer', default: 'x' } } })]),
      `${v}.properties[a].default: Invalid value: "string":  in body must be of type integer: "string"`,
    ],
    [
      'a set of maps that are not atomic',
      definition([
        version({
          type: 'object',
          properties: { a: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'object' } } },
        }),
      ]),
      `${v}.properties[a].items.x-kubernetes-map-type: Invalid value: null: must be atomic as item of a list with x-kubernetes-list-type=set`,
    ],
    [
      'keys of a map that may be missing',
      definition([
        version({
          type: 'object',
          properties: {
            a: {
              type: 'array',
              'x-kubernetes-list-type': 'map',
              'x-kubernetes-list-map-keys': ['k'],
              items: { type: 'object', properties: { k: { type: 'string' } } },
            },
          },
        }),
      ]),
      `${v}.properties[a].items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property`,
    ],
    [
      'a rule without an expression',
      definition([version({ type: 'object', 'x-kubernetes-validations': [{ rule: ' ' }] })]),
      `${v}.x-kubernetes-validations[0].rule: Required value: rule is not specified`,
    ],
    [
      'a rule about a field that is not there',
      definition([version({ type: 'object', 'x-kubernetes-validations': [{ rule: 'true', fieldPath: '.a' }] })]),
      `${v}.x-kubernetes-validations[0].fieldPath: Invalid value: ".a": must be a valid path`,
    ],
    [
      'a conversion webhook that speaks no known version of reviews',
      definition([version(plain)], {
        conversion: {
          strategy: 'Webhook',
          webhook: { clientConfig: { url: 'https://a.b/c' }, conversionReviewVersions: ['v2'] },
        },
      }),
      'spec.conversion.conversionReviewVersions: Invalid value: ["v2"]: must include at least one of v1, v1beta1',
    ],
    [
      'a field to select by that is no scalar',
      definition([
        version({ type: 'object', properties: { a: { type: 'object' } } }, { selectableFields: [{ jsonPath: '.a' }] }),
      ]),
      'spec.selectableFields[0].jsonPath: Invalid value: ".a": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.',
    ],
    [
      'a group of the community without approval',
      definition([version(plain)], { group: 'x.k8s.io' }, { name: 'things.x.k8s.io' }),
      'metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation "api-approved.kubernetes.io", see https://github.com/kubernetes/enhancements/pull/1111',
    ],
    [
      'a column of an unknown type',
      definition([version(plain, { additionalPrinterColumns: [{ name: 'A', type: 'x', jsonPath: 'a' }] })]),
      'spec.additionalPrinterColumns[0].type: Invalid value: "x": must be one of boolean,date,integer,number,string',
    ],
  ];
  for (const [what, given, text] of cases)
    it(`is refused with ${what}`, () => assert.ok(problems(given).includes(text), problems(given).join('\n')));

  it('keeps its names once it is established, and versions that may have objects', () => {
    const old = definition([version(plain), version(plain, { name: 'v2', storage: false })]);
    const established: CustomResourceDefinition = {
      ...old,
      status: {
        acceptedNames: old.spec.names,
        storedVersions: ['v1'],
        conditions: [{ type: 'Established', status: 'True' }],
      },
    };
    const changed = definition([version(plain, { name: 'v2' })], { scope: 'Cluster' });
    const next = {
      ...changed,
      status: { conditions: [], acceptedNames: old.spec.names, storedVersions: ['v1', 'v2'] },
    };
    assert.deepEqual(
      validateCustomResourceDefinitionUpdate(next, established).map(({ field }) => field),
      ['spec.scope', 'status.storedVersions[0]'],
    );
  });

  it('has no keyword that has no place in a structural schema; each is named once', () => {
    const within = (schema: object): readonly string[] =>
      problems(definition([version({ type: 'object', properties: { a: schema as JsonSchema } })]));
    const at = `${v}.properties[a]`;
    assert.deepEqual(within({ $ref: '#/b' }), [`${at}.$ref: Forbidden: $ref is not supported`]);
    assert.deepEqual(within({ type: 'array', items: [{ type: 'string' }] }), [
      `${at}.items: Forbidden: items must be a schema object and not an array`,
    ]);
    assert.deepEqual(within({ type: 'string', $schema: 'x' }), [
      `${v}: Invalid value: "": OpenAPIV3Schema 'schema' is not supported`,
    ]);
    assert.deepEqual(within({ type: 'null' }), [
      `${at}.type: Unsupported value: "null": supported values: "array", "boolean", "integer", "number", "object", "string"`,
      `${at}.type: Forbidden: type cannot be set to null, use nullable as an alternative`,
    ]);
  });

  it('is warned of formats that check nothing, unless they were there', () => {
    const having = (format: string, type = 'string'): CustomResourceDefinition =>
      definition([version({ type: 'object', properties: { a: { type, format } } })]);
    assert.deepEqual(crdWarnings(having('moon'), undefined), ['unrecognized format "moon"']);
    assert.deepEqual(crdWarnings(having('int32'), undefined), ['unrecognized format "int32"']);
    for (const known of [having('date-time'), having('password'), having('int64', 'integer')])
      assert.deepEqual(crdWarnings(known, undefined), []);
    assert.deepEqual(crdWarnings(having('moon'), having('moon')), []);
    assert.deepEqual(crdWarnings(having('sun'), having('moon')), ['unrecognized format "sun"']);
  });

  it('has the schemas of many versions compared once', () => {
    let reads = 0;
    const counted = (name: string): CustomResourceDefinition['spec']['versions'][number] => ({
      ...{ name, served: true, storage: name === 'v1' },
      schema: {
        get openAPIV3Schema() {
          reads++;
          return plain;
        },
      },
    });
    const { spec, ...rest } = definition([version(plain)]);
    const versions = Array.from({ length: 300 }, (_, index) => counted(`v${index + 1}`));
    assert.deepEqual(problems({ ...rest, spec: { ...spec, versions } }), []);
    assert.ok(reads < versions.length * 10, `${reads} reads`);
  });

  it('is refused if the patterns of its versions are too large together', () => {
    const versions = Array.from({ length: 60 }, (_, index) =>
      version(
        { type: 'object', properties: { a: { type: 'string', pattern: `^[a-z]{1,999}${index}$` } } },
        { name: `v${index + 1}`, storage: index === 0 },
      ),
    );
    assert.match(problems(definition(versions))[0] ?? '', /the patterns of the definition are too large together/);
    assert.deepEqual(problems(definition(versions.slice(0, 10))), []);
  });
});
