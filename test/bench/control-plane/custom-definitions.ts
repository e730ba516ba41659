/**
 * CustomResourceDefinitions with the size that operators install. Their structure follows those of monitoring and
 * certificate operators.
 */

const WORDS =
  'the name of a resource in same namespace which selects endpoints and ports to be scraped by default value is used when not set optional field references secret key that contains credentials must exist before object created this will only take effect if enabled otherwise ignored see documentation for details on how rules are evaluated'.split(
    ' ',
  );
const BRANCHES = 5;
const DEPTH = 3;
const DESCRIPTION_WORDS = 25;

/** Pseudo-random numbers that are the same in every run. */
function* numbers(seed: number): Generator<number, never> {
  let state = seed * 2_654_435_761 + 1;
  for (;;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    yield state;
  }
}

/** A kind whose objects are as simple as ConfigMaps. */
export const SAMPLE_DEFINITION: object = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'samples.bench.example.com' },
  spec: {
    group: 'bench.example.com',
    scope: 'Namespaced',
    names: { plural: 'samples', singular: 'sample', kind: 'Sample', listKind: 'SampleList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                required: ['mode'],
                properties: {
                  mode: { type: 'string', enum: ['production', 'test'] },
                  'server.conf': { type: 'string', maxLength: 1000 },
                },
              },
            },
          },
        },
      },
    ],
  },
};

/** About 44.5 KB as JSON. Descriptions and most names differ from one definition to the next. */
export function largeDefinition(number: number): object {
  const random = numbers(number + 1);
  const next = (below: number): number => (random.next().value >>> 8) % below;
  const word = (): string => WORDS[next(WORDS.length)] ?? '';
  const description = (): string => Array.from({ length: DESCRIPTION_WORDS }, word).join(' ');
  const leaf = (): object =>
    [
      { type: 'string', description: description(), maxLength: 253, pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$' },
      { type: 'integer', format: 'int32', description: description(), minimum: 0 },
      { type: 'string', description: description(), enum: ['Always', 'IfNotPresent', 'Never'] },
      { type: 'boolean', description: description() },
      { type: 'array', description: description(), items: { type: 'string' } },
      {
        'x-kubernetes-int-or-string': true,
        anyOf: [{ type: 'integer' }, { type: 'string' }],
        description: description(),
      },
    ][next(6)] ?? {};
  const branch = (depth: number): object =>
    depth === 0
      ? leaf()
      : {
          type: 'object',
          description: description(),
          properties: Object.fromEntries(
            Array.from({ length: BRANCHES }, (_, index) => [`${word()}${index}`, branch(depth - 1)]),
          ),
        };
  const name = `widget${number}s`;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${name}.group${number % 25}.example.com` },
    spec: {
      group: `group${number % 25}.example.com`,
      scope: 'Namespaced',
      names: { plural: name, singular: `widget${number}`, kind: `Widget${number}`, listKind: `Widget${number}List` },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              type: 'object',
              description: description(),
              properties: {
                apiVersion: { type: 'string' },
                kind: { type: 'string' },
                metadata: { type: 'object' },
                spec: branch(DEPTH),
                status: branch(2),
              },
            },
          },
        },
      ],
    },
  };
}
