import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { apiVersionOf } from '../../src/api/client/resource-type.ts';
import { objectLimits } from '../../src/api/object-limits.ts';
import type { ObjectSchema } from '../../src/api/schema/schema.ts';
import type { ResourceDefinition } from '../../src/control-plane/model/resource-definition.ts';
import { allResources } from '../../src/control-plane/resources/all.ts';
import { everyKind, everyReview } from './support/every-kind.ts';
import { placesOf, shapesOf, sizeFor, withPlace } from './support/oversized-shapes.ts';
import type { Place, Shape } from './support/oversized-shapes.ts';
import { MeasuredCluster } from './support/measured-cluster.ts';
import type { Sent } from './support/measured-cluster.ts';

/*
 * No request within the API's limits may hold the event loop for more than 100 ms, or increase the heap by more than 50
 * times its size. Superlinear growth is detected at small sizes: four times the size must not take much more than four
 * times as long. With OVERSIZED_SWEEP=1, all places are tried with all shapes; otherwise each place is tried with one
 * shape, a different one for each place.
 */
const sweepsAll = process.env['OVERSIZED_SWEEP'] === '1';
/** Four times as long, and almost twice that for logarithms, caches and collections. */
const mostGrowth = 7;
/** Shorter times are too imprecise to be compared. */
const worthComparingMs = 25;
/** The limit is 100 ms. Test machines have other work, so this is higher. */
const longestTurnMs = 300;
/** The maximum growth of the heap, in multiples of the request's size. */
const heapTimes = 50;
const heapAnyway = 16 * 1024 * 1024;
const smallBytes = 12_000;
const mostBytes = 3_000_000;
const mostValues = objectLimits.objectValues - 1000;

interface Kind {
  readonly definition: ResourceDefinition;
  readonly example: object;
  readonly path: string;
}

function kindsTried(): readonly Kind[] {
  const examples = new Map(
    [...everyKind('x', 'default').map(({ manifest }) => manifest), ...everyReview].map((manifest) => [
      `${String(manifest['apiVersion'])}/${String(manifest['kind'])}`,
      manifest,
    ]),
  );
  return allResources.flatMap((definition) => {
    const example = examples.get(`${apiVersionOf(definition.type)}/${definition.type.kind}`);
    return example === undefined ? [] : [{ definition, example, path: pathOf(definition) }];
  });
}

function pathOf({ type: { group, version, namespaced, plural } }: ResourceDefinition): string {
  return `${group === '' ? '/api/v1' : `/apis/${group}/${version}`}${namespaced ? '/namespaces/default' : ''}/${plural}`;
}

const schemaOf = ({ definition }: Kind): ObjectSchema => definition.schema;

interface Trial {
  readonly name: string;
  /** Undefined if there is no request of this size. */
  readonly request: (size: number) => Sent;
  readonly size: (bytes: number) => number;
}

function trialOf(kind: Kind, place: Place, shape: Shape): Trial {
  const { type } = kind.definition;
  return {
    name: `${type.kind} ${place.path.join('.')}: ${shape.name}`,
    request: (size) => ({
      method: 'POST',
      path: `${kind.path}?dryRun=All`,
      body: JSON.stringify(withPlace(kind.example, schemaOf(kind), place, shape.make(size))),
    }),
    size: (bytes) => sizeFor(shape, bytes, mostValues),
  };
}

function trials(): readonly Trial[] {
  const seen = new Map<ObjectSchema, Set<string>>();
  return kindsTried().flatMap((kind) => {
    const places = placesOf(schemaOf(kind), seen);
    return places.flatMap((place, index) => {
      const shapes = shapesOf(place);
      return (sweepsAll ? shapes : shapes.filter((_, each) => each === index % shapes.length)).map((shape) =>
        trialOf(kind, place, shape),
      );
    });
  });
}

const median = (values: readonly number[]): number =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;

describe('no request stops the others', () => {
  let cluster: MeasuredCluster;
  before(async () => {
    cluster = await MeasuredCluster.start();
    for (const { path, example } of kindsTried())
      for (let round = 0; round < 3; round++)
        await cluster.send({ method: 'POST', path: `${path}?dryRun=All`, body: JSON.stringify(example) });
  });
  after(() => cluster.stop());

  const heldMs = async (sent: Sent, rounds: number): Promise<number> => {
    const found: number[] = [];
    for (let round = 0; round < rounds; round++) found.push((await cluster.measure(sent)).heldMs);
    return median(found);
  };

  /** The shortest time of several tries, because other programs can only make it longer. */
  const leastHeldMs = async (sent: Sent): Promise<number> => {
    const found: number[] = [];
    for (let round = 0; round < 7; round++) found.push((await cluster.measure(sent)).heldMs);
    return Math.min(...found);
  };

  /** The problem if the time grows too fast; undefined if it does not. */
  const growsTooFast = async ({ name, request, size }: Trial): Promise<string | undefined> => {
    const small = size(smallBytes);
    // Most requests end quickly. One with quadratic cost does not end within this time.
    const first = (await cluster.measure(request(4 * small))).heldMs;
    if (first < 8 || (first < worthComparingMs && first < (await cluster.measure(request(small))).heldMs * mostGrowth))
      return undefined;
    const largest = size(mostBytes);
    for (let count = 4 * small; 4 * count <= largest; count *= 4) {
      const judge = (before: number, after: number): string | undefined => {
        if (after > worthComparingMs && after > before * mostGrowth)
          return `${name}: ${count}: ${before.toFixed(0)} ms, ${4 * count}: ${after.toFixed(0)} ms`;
        return after > longestTurnMs ? `${name}: ${4 * count}: ${after.toFixed(0)} ms in one turn` : undefined;
      };
      if (judge(await heldMs(request(count), 3), await heldMs(request(4 * count), 3)) === undefined) continue;
      const why = judge(await leastHeldMs(request(count)), await leastHeldMs(request(4 * count)));
      if (why !== undefined) return why;
    }
    return undefined;
  };

  it('whatever in an object is made large, the time for it grows as the request does', {
    timeout: 600_000 * (sweepsAll ? 10 : 1),
  }, async () => {
    const slow: string[] = [];
    for (const trial of trials()) {
      const why = await growsTooFast(trial);
      if (why !== undefined) slow.push(why);
    }
    assert.deepEqual(slow, []);
  });

  /** The problem of a response that is too late or uses too much memory. */
  const breaksTheLaw = async (name: string, sent: Sent, expected: RegExp): Promise<string | undefined> => {
    const bytes = Buffer.byteLength(sent.body ?? '') + sent.path.length;
    const mostHeap = heapTimes * bytes + heapAnyway;
    const rounds = [await cluster.measure(sent)];
    const isLawful = rounds.every(({ heldMs: each, heapBytes }) => each <= longestTurnMs && heapBytes <= mostHeap);
    if (!isLawful) rounds.push(await cluster.measure(sent), await cluster.measure(sent));
    const [held, heap] = [
      median(rounds.map(({ heldMs: each }) => each)),
      median(rounds.map(({ heapBytes }) => heapBytes)),
    ];
    const { status, body } = rounds[0]?.answer ?? { status: 0, body: '' };
    if (!expected.test(String(status))) return `${name}: ${status} ${body.slice(0, 200)}`;
    if (held > longestTurnMs) {
      const least = await leastHeldMs(sent);
      if (least > longestTurnMs) return `${name}: ${least.toFixed(0)} ms in one turn`;
    }
    return heap > mostHeap ? `${name}: ${bytes} bytes, and ${(heap / 1024 / 1024).toFixed(0)} MiB of heap` : undefined;
  };

  const configMaps = '/api/v1/namespaces/default/configmaps';
  const pods = '/api/v1/namespaces/default/pods';
  const roles = '/apis/rbac.authorization.k8s.io/v1/namespaces/default';
  const post = (path: string, object: object, headers: Record<string, string> = {}): Sent => ({
    method: 'POST',
    path: `${path}?dryRun=All`,
    body: JSON.stringify(object),
    headers,
  });
  const named = (apiVersion: string, kind: string, content: object): object => ({
    apiVersion,
    kind,
    metadata: { name: 'large', namespace: 'default' },
    ...content,
  });
  const data = (entries: object): object => named('v1', 'ConfigMap', { data: entries });
  const pod = (spec: object): object =>
    named('v1', 'Pod', { spec: { containers: [{ name: 'c', image: 'i' }], ...spec } });
  const many = <T>(count: number, make: (index: number) => T): T[] =>
    Array.from({ length: count }, (_, index) => make(index));
  const keys = (count: number): object => Object.fromEntries(many(count, (index) => [`k${index}`, '']));
  const asYaml = { accept: 'application/yaml' };
  const inYaml = { 'content-type': 'application/yaml' };

  it('known oversized requests do not stop it', async () => {
    const rule = {
      apiGroups: many(250, (index) => `g${index}`),
      resources: many(250, (index) => `r${index}`),
      verbs: many(250, (index) => `v${index}`),
    };
    const binding = named('rbac.authorization.k8s.io/v1', 'RoleBinding', {
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'admin' },
      subjects: [{ kind: 'User', name: 'jane', apiGroup: 'rbac.authorization.k8s.io' }],
    });
    assert.equal(
      (await cluster.send({ method: 'POST', path: `${roles}/rolebindings`, body: JSON.stringify(binding) })).status,
      201,
    );
    const found = [
      await breaksTheLaw('digits in YAML', post(configMaps, data({ a: `${'1'.repeat(1_000_000)}x` }), asYaml), /201/),
      await breaksTheLaw(
        'a role of 250 groups, resources and verbs',
        post(`${roles}/roles`, named('rbac.authorization.k8s.io/v1', 'Role', { rules: [rule] }), {
          'impersonate-user': 'jane',
        }),
        /403/,
      ),
      await breaksTheLaw(
        'projected sources',
        post(
          pods,
          pod({
            volumes: [
              {
                name: 'v',
                projected: {
                  sources: many(2500, (index) => ({
                    secret: { name: `s${index}`, items: [{ key: 'k', path: `p${index}` }] },
                  })),
                },
              },
            ],
          }),
        ),
        /201/,
      ),
      await breaksTheLaw('90,000 keys', post(configMaps, data(keys(90_000))), /413/),
      await breaksTheLaw('24,000 keys', post(configMaps, data(keys(24_000))), /201/),
      await breaksTheLaw('24,000 keys in YAML', post(configMaps, data(keys(24_000)), asYaml), /201/),
      await breaksTheLaw(
        'brackets in YAML',
        { ...post(configMaps, {}, inYaml), body: `a: ${'['.repeat(2_500_000)}` },
        /400/,
      ),
      await breaksTheLaw(
        'a list in YAML',
        { ...post(configMaps, {}, inYaml), body: `a: [${'x, '.repeat(45_000)}x]\n` },
        /4../,
      ),
      await breaksTheLaw(
        '20,000 containers',
        post(pods, pod({ containers: many(20_000, (index) => ({ name: `c${index}`, image: 'i' })) })),
        /413/,
      ),
      await breaksTheLaw(
        'a thousand volumes with a warning each',
        post(pods, pod({ volumes: many(3500, (index) => ({ name: `v${index}`, gitRepo: { repository: 'r' } })) })),
        /201/,
      ),
      await breaksTheLaw(
        'a name of 3 MB',
        post(configMaps, { ...data({}), metadata: { name: 'ü'.repeat(1_400_000), namespace: 'default' } }),
        /422/,
      ),
    ];
    assert.deepEqual(
      found.filter((why) => why !== undefined),
      [],
    );
  });

  it('patches that are short and mean much do not', async () => {
    const path = `${configMaps}/patched`;
    assert.equal(
      (
        await cluster.send({
          method: 'POST',
          path: configMaps,
          body: JSON.stringify({
            ...data({ a: 'x' }),
            metadata: { name: 'patched', finalizers: many(5000, (index) => `x.io/${index}`) },
          }),
        })
      ).status,
      201,
    );
    const patch = (type: string, value: unknown, query = ''): Sent => ({
      method: 'PATCH',
      path: `${path}?dryRun=All${query}`,
      body: JSON.stringify(value),
      headers: { 'content-type': type },
    });
    const json = (operations: readonly object[]): Sent => patch('application/json-patch+json', operations);
    const config = (content: object): object => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'patched' },
      ...content,
    });
    const doubling = [
      { op: 'add', path: '/data/v', value: 'x'.repeat(1000) },
      ...many(40, (index) => ({ op: 'copy', from: '/data', path: `/data/c${index}` })),
    ];
    const found = [
      await breaksTheLaw(
        'inserting at the beginning',
        json(many(10_000, (index) => ({ op: 'add', path: '/metadata/finalizers/0', value: `y.io/${index}` }))),
        /200|4../,
      ),
      await breaksTheLaw(
        'moving from end to beginning',
        json(many(10_000, () => ({ op: 'move', from: '/metadata/finalizers/4999', path: '/metadata/finalizers/0' }))),
        /200|4../,
      ),
      await breaksTheLaw(
        'testing the whole again and again',
        json(many(10_000, () => ({ op: 'test', path: '/metadata/finalizers', value: [] }))),
        /422/,
      ),
      await breaksTheLaw('copying what was copied', json(doubling), /4../),
      await breaksTheLaw('a merge', patch('application/merge-patch+json', { data: keys(15_000) }), /200/),
      await breaksTheLaw(
        'a strategic merge',
        patch('application/strategic-merge-patch+json', {
          metadata: { finalizers: many(15_000, (index) => `z.io/${index}`) },
        }),
        /200|4../,
      ),
      await breaksTheLaw(
        'an order of elements',
        patch('application/strategic-merge-patch+json', {
          metadata: {
            '$setElementOrder/finalizers': many(20_000, (index) => `x.io/${20_000 - index}`),
            finalizers: many(20_000, (index) => `x.io/${index}`),
          },
        }),
        /4..|500/,
      ),
      await breaksTheLaw(
        'server-side apply',
        patch('application/apply-patch+yaml', config({ data: keys(15_000) }), '&fieldManager=a&force=true'),
        /200/,
      ),
    ];
    assert.deepEqual(
      found.filter((why) => why !== undefined),
      [],
    );
  });

  it('selectors of very many terms do not', async () => {
    // Their number times that of the terms would be far more than what is allowed.
    await Promise.all(
      many(1000, (index) =>
        cluster.send({
          method: 'POST',
          path: configMaps,
          body: JSON.stringify({
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { name: `c${index}`, labels: { a: 'b', c: 'd' } },
          }),
        }),
      ),
    );
    const list = (query: string): Sent => ({ method: 'GET', path: `${configMaps}?${query}` });
    const labels = (terms: readonly string[]): Sent =>
      list(`labelSelector=${terms.join(',').replaceAll(' ', '%20')},zzz`);
    const found = [
      await breaksTheLaw('terms', labels(many(20_000, (index) => `a!=v${index}`)), /200/),
      await breaksTheLaw('keys', labels(many(20_000, (index) => `!k${index}`)), /200/),
      await breaksTheLaw('values', labels([`a notin (${many(20_000, (index) => `v${index}`).join(',')})`]), /200/),
      await breaksTheLaw(
        'values of many terms',
        labels(many(200, () => `a notin (${many(100, (index) => `v${index}`).join(',')})`)),
        /200/,
      ),
      await breaksTheLaw('brackets', list(`labelSelector=${'('.repeat(80_000)}`), /4../),
      await breaksTheLaw(
        'fields',
        list(`fieldSelector=${many(9000, (index) => `metadata.name!=v${index}`).join(',')},metadata.namespace=none`),
        /200/,
      ),
    ];
    assert.deepEqual(
      found.filter((why) => why !== undefined),
      [],
    );
  });
});
