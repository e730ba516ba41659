import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { createInformers } from '../../../api/client/informer.ts';
import { pods, services } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Service } from '../../../api/core/service.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { endpointsOf } from '../../controller-runtime/service-endpoints.ts';
import { createServiceTally } from '../../controller-runtime/service-tally.ts';
import { truncateSubsets } from './address-groups.ts';
import { ListedPods } from './listed-pods.ts';
import type { ListedPod } from './listed-pods.ts';
import { computeSubsets } from './testing/compute-subsets.ts';

const at = (name: string): { namespace: string; name: string } => ({ namespace: 'default', name });

const podStep = fc.record({
  kind: fc.constant('pod' as const),
  number: fc.nat(5),
  app: fc.constantFrom('a', 'a', 'b'),
  ip: fc.constantFrom<string | undefined>('10.0.0.1', '10.0.0.2', '10.0.0.10', undefined),
  port: fc.constantFrom(1, 2, undefined),
  ready: fc.boolean(),
  leaving: fc.boolean(),
});
const stepArb = fc.oneof(
  { weight: 5, arbitrary: podStep },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('removePod' as const), number: fc.nat(5) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('service' as const),
      app: fc.constantFrom('a', 'b'),
      everyone: fc.boolean(),
      targetPort: fc.constantFrom('web', 80),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('endWatches' as const, 'compact' as const) }) },
);
type Step = typeof stepArb extends fc.Arbitrary<infer T> ? T : never;

function buildMember({ number, app, ip, port, ready, leaving }: Extract<Step, { kind: 'pod' }>): Pod {
  return buildPod({
    'metadata.name': `p${number}`,
    'metadata.uid': `uid-p${number}`,
    'metadata.labels': { app },
    ...(port !== undefined && { 'spec.containers[0].ports': [{ name: 'web', containerPort: port }] }),
    ...(leaving && { 'metadata.deletionTimestamp': '2026-01-01T00:00:00Z', 'metadata.deletionGracePeriodSeconds': 30 }),
    status: {
      phase: 'Running',
      podIPs: ip === undefined ? [] : [{ ip }],
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    },
  });
}

const serviceSpec = (app: string, everyone: boolean, targetPort: string | number): Service['spec'] => ({
  selector: { app },
  publishNotReadyAddresses: everyone,
  ports: [{ port: 80, targetPort, protocol: 'TCP' }],
});

function take(api: FakeApiClient, step: Step): void {
  if (step.kind === 'pod') {
    const pod = buildMember(step);
    const changed = api.change(pods, at(pod.metadata.name), ({ metadata }) => {
      const { deletionTimestamp: _deleted, ...rest } = metadata;
      return { ...pod, metadata: { ...rest, ...pod.metadata } };
    });
    if (changed === undefined) api.seed(pods, pod);
  } else if (step.kind === 'removePod') api.remove(pods, at(`p${step.number}`));
  else if (step.kind === 'service')
    api.change(services, at('web'), (known) => ({
      ...known,
      spec: serviceSpec(step.app, step.everyone, step.targetPort),
    }));
  else {
    if (step.kind === 'compact') api.compact();
    api.endWatches();
  }
}

async function start(watchLagMs: () => number = () => 0) {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock, watchLagMs });
  const informers = createInformers({ client: api, clock, random: seededRandom(1), log: silentLogger });
  const [serviceInformer, podInformer] = [informers.for(services), informers.for(pods)];
  const tally = createServiceTally<ListedPod, ListedPods>(
    serviceInformer,
    podInformer,
    (service) => new ListedPods(service),
  );
  api.seed(services, { metadata: { ...at('web'), uid: 'uid-web' }, spec: serviceSpec('a', false, 'web') });
  informers.start();
  await clock.settle();
  const current = (): Service => serviceInformer.get(at('web')) ?? assert.fail('no service');
  return { clock, api, informers, podInformer, tally, current };
}

it('the subsets equal those of all pods after random changes, late events and new lists', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ step: stepArb, thenMs: fc.constantFrom(0, 400, 1_000), asked: fc.boolean() }), {
        maxLength: 30,
      }),
      fc.nat(1_000),
      async (steps, seed) => {
        const lag = seededRandom(seed);
        const { clock, api, informers, podInformer, tally, current } = await start(() => Math.floor(lag.next() * 800));
        const agree = (): void => {
          const service = current();
          const selected = podInformer
            .list('default')
            .filter(({ metadata }) => metadata.labels?.['app'] === service.spec.selector?.['app']);
          const listed = tally.of(service, 0);
          assert.deepEqual(listed.subsets, computeSubsets(service, endpointsOf(service, selected)));
          assert.equal(listed.size, selected.length);
        };
        await clock.advance(1_000);
        for (const { step, thenMs, asked } of steps) {
          take(api, step);
          await clock.advance(thenMs);
          if (asked) agree();
        }
        await clock.advance(60_000);
        agree();
        tally.stop();
        await informers.stop();
      },
    ),
    { numRuns: 100 },
  ));

it('a change of one of 1,010 pods reads no other pod, and no more addresses than Endpoints may hold', async () => {
  const { clock, api, informers, tally, current } = await start();
  let looks = 0;
  for (let number = 0; number < 1_010; number++) {
    const ip = `10.1.${number >> 8}.${number & 255}`;
    const pod = buildMember({ kind: 'pod', number, app: 'a', ip, port: 1, ready: true, leaving: false });
    const status = { ...pod.status };
    Object.defineProperty(status, 'podIPs', { enumerable: true, get: () => (looks++, [{ ip }]) });
    api.seed(pods, { ...pod, status });
  }
  await clock.settle();
  const listed = tally.of(current(), 0);
  assert.equal(truncateSubsets(listed.subsets).truncated, true);
  assert.equal(listed.takeChanged().pods.length, 1_010);
  looks = 0;
  api.change(pods, at('p7'), (pod): Pod => ({ ...pod, status: { ...pod.status, phase: 'Failed' } }));
  await clock.settle();
  const after = tally.of(current(), 0);
  assert.deepEqual([after.subsets[0]?.addresses?.length, truncateSubsets(after.subsets).truncated], [1_001, true]);
  assert.deepEqual([...(after.takeChanged().uids ?? [])], ['uid-p7']);
  assert.ok(looks <= 10, `${looks} looks`);
  tally.stop();
  await informers.stop();
});
