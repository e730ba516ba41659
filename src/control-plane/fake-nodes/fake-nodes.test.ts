import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ApiClient } from '../../api/client/api-client.ts';
import type { ObjectKey } from '../../api/client/resource-type.ts';
import { leases, nodes, pods } from '../../api/client/resource-types.ts';
import { FakeApiClient } from '../../api/client/testing/fake-api-client.ts';
import { isConditionTrue } from '../../api/conditions.ts';
import type { Pod } from '../../api/core/pod.ts';
import { internalError } from '../../api/status/api-status-error.ts';
import { buildPod } from '../../api/testing/pod-builder.ts';
import { parseTime } from '../../api/time.ts';
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { createFakeNodes } from './fake-nodes.ts';
import type { FakeNodes } from './fake-nodes.ts';

const web = { namespace: 'default', name: 'web' };
const lease = (name: string): ObjectKey => ({ namespace: 'kube-node-lease', name });
const leaseMs = 10_000;
const reactMs = 10;

interface Fixture {
  readonly api: FakeApiClient;
  readonly clock: FakeClock;
  readonly fakes: FakeNodes;
  pod(): Pod | undefined;
}

function methodsOf(client: ApiClient): ApiClient {
  return {
    get: client.get.bind(client),
    list: client.list.bind(client),
    watch: client.watch.bind(client),
    create: client.create.bind(client),
    update: client.update.bind(client),
    patch: client.patch.bind(client),
    delete: client.delete.bind(client),
    post: client.post.bind(client),
  };
}

async function start(count = 2, clientOf: (api: ApiClient) => ApiClient = (api) => api): Promise<Fixture> {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  const shape = { cpu: '4', memory: '8Gi', pods: 20, labels: { rack: 'r1' } };
  const fakes = createFakeNodes({
    client: clientOf(api),
    clock,
    random: seededRandom(1),
    log: silentLogger,
    count,
    prefix: 'fake',
    shape,
    leaseMs,
    reactMs,
  });
  const started = fakes.start();
  await clock.advance(1);
  await started;
  return { api, clock, fakes, pod: () => api.peek(pods, web) };
}

it('nodes are there, ready, each with its own name, address and pod range, and keep their leases', async () => {
  const { api, clock, fakes } = await start();
  const reported = api
    .all(nodes)
    .map(({ metadata, spec, status }) => [
      metadata.name,
      metadata.labels?.['rack'],
      spec?.podCIDR,
      status?.addresses?.[0]?.address,
      status?.allocatable?.['cpu'],
      isConditionTrue(status?.conditions, 'Ready'),
    ]);
  assert.deepEqual(reported, [
    ['fake-0', 'r1', '10.64.0.0/24', '172.31.0.0', '4', true],
    ['fake-1', 'r1', '10.64.1.0/24', '172.31.0.1', '4', true],
  ]);
  await clock.advance(5 * leaseMs);
  const ages = api
    .all(leases)
    .map(({ metadata, spec }) => [metadata.name, clock.nowMs() - (parseTime(spec?.renewTime) ?? 0) <= 2 * leaseMs]);
  assert.deepEqual(ages, [
    ['fake-0', true],
    ['fake-1', true],
  ]);
  await fakes.stop();
});

it('many nodes do not renew their leases in step', async () => {
  const { api, clock, fakes } = await start(200);
  await clock.advance(2 * leaseMs);
  const renewals = (): number =>
    api.calls.filter(({ verb, plural }) => verb === 'update' && plural === 'leases').length;
  const counts: number[] = [];
  for (let before = renewals(); counts.length < 10; before = renewals()) {
    await clock.advance(leaseMs / 10);
    counts.push(renewals() - before);
  }
  assert.ok(Math.max(...counts) <= 40, `${counts.join(' ')}`);
  assert.ok(counts.reduce((sum, count) => sum + count) >= 180, `${counts.join(' ')}`);
  await fakes.stop();
});

it('a bound pod runs, with an address of its node, and ends when it is deleted', async () => {
  const { api, clock, fakes, pod } = await start();
  await api.create(pods, buildPod({ 'spec.restartPolicy': 'Always' }));
  await clock.advance(1_000);
  assert.equal(pod()?.status?.phase, undefined);
  await api.post(pods, web, 'binding', { target: { name: 'fake-1' } });
  await clock.advance(1_000);
  const { status } = pod() ?? {};
  assert.deepEqual(
    [status?.phase, status?.hostIP, status?.podIP, isConditionTrue(status?.conditions, 'Ready')],
    ['Running', '172.31.0.1', '10.64.1.2', true],
  );
  await api.delete(pods, web);
  assert.equal(pod()?.metadata.deletionGracePeriodSeconds, 30);
  await clock.advance(1_000);
  assert.equal(pod(), undefined);
  await fakes.stop();
});

const lives: readonly [what: string, changes: Record<string, unknown>, phases: readonly (string | undefined)[]][] = [
  [
    'a pod that is not restarted ends soon, and well',
    { 'spec.restartPolicy': 'Never' },
    ['Running', 'Succeeded', 'Succeeded'],
  ],
  [
    'one that says how long it lives and how it ends does so',
    { 'metadata.annotations': { 'fake-nodes/run-ms': '60000', 'fake-nodes/exit-code': '3' } },
    ['Running', 'Running', 'Failed'],
  ],
  ['one of a node that is no fake is left alone', { 'spec.nodeName': 'real' }, [undefined, undefined, undefined]],
];
for (const [what, changes, phases] of lives) {
  it(what, async () => {
    const { api, clock, fakes, pod } = await start();
    api.seed(pods, buildPod({ 'spec.nodeName': 'fake-0', 'spec.restartPolicy': 'Always', ...changes }));
    const seen: unknown[] = [];
    for (const waitMs of [100, 5_000, 60_000]) {
      await clock.advance(waitMs);
      seen.push(pod()?.status?.phase);
    }
    assert.deepEqual(seen, phases);
    await fakes.stop();
  });
}

it('a pod that is never ready runs and is not ready', async () => {
  const { api, clock, fakes, pod } = await start();
  api.seed(
    pods,
    buildPod({
      'spec.nodeName': 'fake-0',
      'spec.restartPolicy': 'Always',
      'metadata.annotations': { 'fake-nodes/ready': 'false' },
    }),
  );
  await clock.advance(1_000);
  assert.deepEqual(
    [
      pod()?.status?.phase,
      isConditionTrue(pod()?.status?.conditions, 'Ready'),
      pod()?.status?.containerStatuses?.[0]?.ready,
    ],
    ['Running', false, false],
  );
  await fakes.stop();
});

it('a node that lost its power neither renews its lease nor does anything, until it is back', async () => {
  const { api, clock, fakes, pod } = await start();
  await clock.advance(2 * leaseMs);
  fakes.silence('fake-0');
  const renewals = (): (string | undefined)[] => api.all(leases).map(({ spec }) => spec?.renewTime);
  const [before, other] = renewals();
  api.seed(pods, buildPod({ 'spec.nodeName': 'fake-0', 'spec.restartPolicy': 'Always' }));
  await clock.advance(5 * leaseMs);
  assert.deepEqual([renewals()[0], renewals()[1] === other, pod()?.status?.phase], [before, false, undefined]);
  fakes.revive('fake-0');
  await clock.advance(2 * leaseMs);
  assert.deepEqual([renewals()[0] === before, pod()?.status?.phase], [false, 'Running']);
  await fakes.stop();
});

it('a node that was taken for lost reports itself and its pods as ready again', async () => {
  const { api, clock, fakes, pod } = await start();
  await api.create(pods, buildPod({ 'spec.nodeName': 'fake-0', 'spec.restartPolicy': 'Always' }));
  await clock.advance(2 * leaseMs);
  fakes.silence('fake-0');
  await clock.advance(5 * leaseMs);
  const lost = { status: { conditions: [{ type: 'Ready', status: 'False' }] } };
  await api.patch(
    nodes,
    { namespace: '', name: 'fake-0' },
    { type: 'strategic', body: lost },
    { subresource: 'status' },
  );
  await api.patch(pods, web, { type: 'strategic', body: lost }, { subresource: 'status' });
  const ready = (): readonly boolean[] =>
    [api.peek(nodes, { namespace: '', name: 'fake-0' }), pod()].map((each) =>
      isConditionTrue(each?.status?.conditions, 'Ready'),
    );
  assert.deepEqual(ready(), [false, false]);
  fakes.revive('fake-0');
  await clock.advance(2 * leaseMs);
  assert.deepEqual(ready(), [true, true]);
  await fakes.stop();
});

it('a node that gets no answer keeps no other from renewing its lease', async () => {
  const { api, clock, fakes } = await start(100, (client) => ({
    ...methodsOf(client),
    get: (type, key, ...rest) =>
      type.plural === 'leases' && key.name === 'fake-0' ? new Promise(() => {}) : client.get(type, key, ...rest),
  }));
  await clock.advance(4 * leaseMs);
  const old = api.all(leases).filter(({ spec }) => clock.nowMs() - (parseTime(spec?.renewTime) ?? 0) > 2 * leaseMs);
  assert.deepEqual([api.all(leases).length, old.length], [99, 0]);
  await fakes.stop();
});

it('a lease that another process wrote or deleted is renewed all the same', async () => {
  const { api, clock, fakes } = await start();
  await clock.advance(2 * leaseMs);
  await api.patch(leases, lease('fake-0'), { type: 'merge', body: { metadata: { labels: { by: 'another' } } } });
  await api.delete(leases, lease('fake-1'));
  await clock.advance(2 * leaseMs);
  assert.deepEqual(
    api
      .all(leases)
      .map(({ metadata, spec }) => [
        metadata.name,
        metadata.labels,
        clock.nowMs() - (parseTime(spec?.renewTime) ?? 0) <= 2 * leaseMs,
      ]),
    [
      ['fake-0', { by: 'another' }, true],
      ['fake-1', undefined, true],
    ],
  );
  await fakes.stop();
});

it('a server that fails for a while only delays', async () => {
  const { api, clock, fakes, pod } = await start();
  api.fail('patch', 'pods', internalError('no disk'), 3);
  api.seed(pods, buildPod({ 'spec.nodeName': 'fake-0', 'spec.restartPolicy': 'Always' }));
  await clock.advance(5_000);
  assert.equal(pod()?.status?.phase, 'Running');
  await fakes.stop();
});

it('nodes that are there already are taken over', async () => {
  const first = await start();
  await first.fakes.stop();
  const again = createFakeNodes({
    client: first.api,
    clock: first.clock,
    random: seededRandom(2),
    log: silentLogger,
    count: 3,
    prefix: 'fake',
    shape: { cpu: '1', memory: '1Gi', pods: 1, labels: {} },
    leaseMs,
    reactMs,
  });
  await again.start();
  assert.deepEqual(
    first.api.all(nodes).map(({ metadata, status }) => `${metadata.name} ${status?.allocatable?.['cpu']}`),
    ['fake-0 4', 'fake-1 4', 'fake-2 1'],
  );
  await again.stop();
});
