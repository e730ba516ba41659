import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { createInformers } from '../../../api/client/informer.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { configMaps, pods, resourceQuotas, services } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ResourceQuota } from '../../../api/core/resource-quota.ts';
import { formatAmounts } from '../../../api/quota/amounts.ts';
import { computeQuotaUsage } from '../../../api/quota/quota-usage.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { formatTime } from '../../../api/time.ts';
import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { QuotaTally } from './quota-tally.ts';

const types = [pods, services, configMaps] as const;
const bounds = [
  { pods: '9', 'requests.cpu': '9', 'limits.memory': '9Gi' },
  { 'count/pods': '9', services: '2', 'services.nodeports': '1', 'count/configmaps': '5' },
  { memory: '1Gi', persistentvolumeclaims: '3' },
] as const;

const stepArb = fc.oneof(
  fc.record({
    kind: fc.constantFrom('pod' as const, 'pod' as const, 'pod' as const),
    namespace: fc.constantFrom('a', 'b'),
    number: fc.nat(5),
    cpu: fc.constantFrom('100m', '1', undefined),
    memory: fc.constantFrom('64Mi', '1M', undefined),
    deadline: fc.boolean(),
    phase: fc.constantFrom('Pending', 'Running', 'Succeeded'),
    leaving: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('service' as const),
    namespace: fc.constantFrom('a', 'b'),
    number: fc.nat(2),
    type: fc.constantFrom('ClusterIP', 'NodePort'),
  }),
  fc.record({ kind: fc.constant('configMap' as const), namespace: fc.constantFrom('a', 'b'), number: fc.nat(2) }),
  fc.record({
    kind: fc.constant('remove' as const),
    of: fc.constantFrom(...types),
    namespace: fc.constantFrom('a', 'b'),
    number: fc.nat(5),
  }),
  fc.record({
    kind: fc.constant('quota' as const),
    namespace: fc.constantFrom('a', 'b'),
    name: fc.constantFrom('x', 'y'),
    hard: fc.constantFrom(...bounds),
    scopes: fc.constantFrom(undefined, ['Terminating'], ['NotBestEffort']),
  }),
  fc.record({
    kind: fc.constant('removeQuota' as const),
    namespace: fc.constantFrom('a', 'b'),
    name: fc.constantFrom('x', 'y'),
  }),
  fc.record({ kind: fc.constant('wait' as const), ms: fc.nat(20_000) }),
  fc.record({ kind: fc.constantFrom('endWatches' as const, 'compact' as const) }),
);
type Step = typeof stepArb extends fc.Arbitrary<infer T> ? T : never;

function podOf(step: Extract<Step, { kind: 'pod' }>, nowMs: number): Pod {
  const { namespace, number, cpu, memory, deadline, phase, leaving } = step;
  const amounts = { ...(cpu !== undefined && { cpu }), ...(memory !== undefined && { memory }) };
  const pod = buildPod({ 'metadata.name': `o${number}`, 'metadata.namespace': namespace });
  const [container] = pod.spec.containers;
  assert.ok(container !== undefined);
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      uid: `pod-${namespace}-${number}`,
      ...(leaving && { deletionTimestamp: formatTime(nowMs), deletionGracePeriodSeconds: 10 }),
    },
    spec: {
      ...pod.spec,
      containers: [{ ...container, resources: { requests: amounts, limits: amounts } }],
      ...(deadline && { activeDeadlineSeconds: 5 }),
    },
    status: { phase: phase as 'Pending' },
  };
}

/** Returns the object of a step that creates or changes one. */
function objectOf(step: Extract<Step, { kind: 'pod' | 'service' | 'configMap' }>, nowMs: number): ApiObject {
  if (step.kind === 'pod') return podOf(step, nowMs);
  const { kind, namespace, number } = step;
  const metadata = { namespace, name: `o${number}`, uid: `${kind}-${namespace}-${number}` };
  return step.kind === 'configMap'
    ? { metadata }
    : ({ metadata, spec: { type: step.type, ports: [{ port: 80 }, { port: 81 }] } } as ApiObject);
}

const typeOf = { pod: pods, service: services, configMap: configMaps } as const;

async function take(api: FakeApiClient, clock: FakeClock, step: Step): Promise<void> {
  switch (step.kind) {
    case 'pod':
    case 'service':
    case 'configMap':
      return void api.seed<ApiObject>(typeOf[step.kind], objectOf(step, clock.nowMs()));
    case 'remove':
      return void api.remove(step.of, { namespace: step.namespace, name: `o${step.number}` });
    case 'quota': {
      const { namespace, name, hard, scopes } = step;
      const spec: ResourceQuota['spec'] = { hard, ...(scopes !== undefined && { scopes: scopes as ['Terminating'] }) };
      if (api.change(resourceQuotas, { namespace, name }, (known) => ({ ...known, spec })) === undefined)
        api.seed(resourceQuotas, { metadata: { namespace, name, uid: `quota-${namespace}-${name}` }, spec });
      return;
    }
    case 'removeQuota':
      return void api.remove(resourceQuotas, { namespace: step.namespace, name: step.name });
    case 'wait':
      return clock.advance(step.ms);
    case 'endWatches':
      return api.endWatches();
    case 'compact':
      return api.compact();
  }
}

async function run(steps: readonly Step[], seed: number): Promise<void> {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock, random: seededRandom(seed), watchLagMs: () => seed % 400 });
  const informers = createInformers({ client: api, clock, random: seededRandom(seed + 1), log: silentLogger });
  const quotas = informers.for(resourceQuotas);
  const counted = types.map((type) => ({ type, informer: informers.for<ApiObject>(type) }));
  const tally = new QuotaTally(quotas, counted);
  for (const namespace of ['a', 'b'])
    api.seed(resourceQuotas, {
      metadata: { namespace, name: 'x', uid: `quota-${namespace}-x` },
      spec: { hard: bounds[0] },
    });
  informers.start();
  await clock.advance(1_000);
  const check = (): void => {
    for (const quota of quotas.list()) {
      const full = computeQuotaUsage(
        quota,
        types,
        (type) => informers.for<ApiObject>(type).list(quota.metadata.namespace),
        clock.nowMs(),
      );
      assert.deepEqual(nanosOf(tally.of(quota, clock.nowMs())), nanosOf(full));
    }
  };
  for (const step of steps) {
    await take(api, clock, step);
    await clock.advance(50);
    check();
  }
  await clock.advance(60_000);
  check();
  for (const quota of quotas.list()) api.remove(resourceQuotas, quota.metadata);
  await clock.advance(60_000);
  assert.deepEqual(tally.sizes, { quotas: 0, objects: 0 });
  tally.stop();
  await informers.stop();
}

const nanosOf = (amounts: ReturnType<QuotaTally['of']>): unknown[] =>
  [...amounts].map(([name, { nanos }]) => `${name} ${nanos}`).sort();

it('the usage of a quota equals that of all objects of its namespace after random changes and late events', () =>
  fc.assert(
    fc.asyncProperty(fc.array(stepArb, { minLength: 10, maxLength: 40 }), fc.integer({ min: 1, max: 1_000_000 }), run),
    {
      numRuns: 150,
    },
  ));

it('the usage is written in the format of the remaining objects', async () => {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  const informers = createInformers({ client: api, clock, random: seededRandom(1), log: silentLogger });
  const tally = new QuotaTally(informers.for(resourceQuotas), [
    { type: pods, informer: informers.for<ApiObject>(pods) },
  ]);
  const quota: ResourceQuota = {
    metadata: { namespace: 'a', name: 'x', uid: 'x' },
    spec: { hard: { memory: '1Gi', pods: '3' } },
  };
  const pod = (number: number, memory: string): Pod =>
    podOf(
      {
        kind: 'pod',
        namespace: 'a',
        number,
        cpu: undefined,
        memory,
        deadline: false,
        phase: 'Running',
        leaving: false,
      } as never,
      0,
    );
  api.seed(pods, pod(1, '1M'));
  api.seed(pods, pod(2, '64Mi'));
  informers.start();
  await clock.advance(1_000);
  tally.of(quota, clock.nowMs());
  api.remove(pods, { namespace: 'a', name: 'o1' });
  await clock.advance(1_000);
  assert.deepEqual(formatAmounts(tally.of(quota, clock.nowMs())), { memory: '64Mi', pods: '1' });
  api.remove(pods, { namespace: 'a', name: 'o2' });
  await clock.advance(1_000);
  assert.deepEqual(formatAmounts(tally.of(quota, clock.nowMs())), { memory: '0', pods: '0' });
  await informers.stop();
});

it('a change of a pod has the same cost in a namespace of any size', async () => {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  const informers = createInformers({ client: api, clock, random: seededRandom(1), log: silentLogger });
  const informer = informers.for<ApiObject>(pods);
  let lists = 0;
  const counting = new Proxy(informer, {
    get: (target, name) => {
      if (name === 'list') lists++;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  const tally = new QuotaTally(informers.for(resourceQuotas), [{ type: pods, informer: counting }]);
  const quota: ResourceQuota = {
    metadata: { namespace: 'a', name: 'x', uid: 'x' },
    spec: { hard: { 'count/pods': '3' } },
  };
  informers.start();
  await clock.advance(1_000);
  for (let number = 0; number < 5; number++) {
    api.seed(
      pods,
      buildPod({ 'metadata.name': `p${number}`, 'metadata.uid': `u${number}`, 'metadata.namespace': 'a' }),
    );
    await clock.advance(100);
    assert.equal(tally.of(quota, clock.nowMs()).get('count/pods')?.nanos, BigInt(number + 1) * 1_000_000_000n);
  }
  assert.equal(lists, 1);
  await informers.stop();
});
