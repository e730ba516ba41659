import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createInformers } from '../../api/client/informer.ts';
import { namespaces, networkPolicies, pods } from '../../api/client/resource-types.ts';
import { FakeApiClient } from '../../api/client/testing/fake-api-client.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { NetworkPolicy } from '../../api/networking/network-policy.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { recordingLog } from '../../base/testing/recording-log.ts';
import type { RecordingLog } from '../../base/testing/recording-log.ts';
import { FakeNft } from '../nftables/testing/fake-nft.ts';
import { createPolicyEnforcer } from './policy-enforcer.ts';
import type { PolicyEnforcer } from './policy-enforcer.ts';
import { policyPodOf } from './policy-pod.ts';

const pod = (name: string, ip: string | undefined, more: Partial<Pod['spec']> = {}): Pod => ({
  metadata: { name, namespace: 'default', uid: name, labels: { app: name } },
  spec: { nodeName: 'node', containers: [{ name: 'c', ports: [{ name: 'web', containerPort: 80 }] }], ...more },
  status: { phase: 'Running', ...(ip === undefined ? {} : { podIP: ip, podIPs: [{ ip }] }) },
});
const statusOf = (ip: string): Pick<Pod, 'status'> => ({ status: pod('', ip).status ?? {} });
const denyAll: NetworkPolicy = {
  metadata: { name: 'deny', namespace: 'default', uid: 'deny' },
  spec: { podSelector: {}, policyTypes: ['Ingress'] },
};

interface Fixture {
  readonly api: FakeApiClient;
  readonly clock: FakeClock;
  readonly nft: FakeNft;
  readonly log: RecordingLog;
  readonly enforcer: PolicyEnforcer;
  readonly bridge: { isFiltered: boolean };
  readonly isolated: () => string[];
  readonly stop: () => Promise<void>;
}

async function start(): Promise<Fixture> {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  const log = recordingLog();
  const parts = { clock, random: seededRandom(1), log };
  const informers = createInformers({ client: api, ...parts });
  const nft = new FakeNft();
  const bridge = { isFiltered: true };
  const enforcer = createPolicyEnforcer({
    client: api,
    informers,
    nft,
    nodeName: 'node',
    tableName: 'KTS-policy',
    filterBridged: () => bridge.isFiltered,
    ...parts,
  });
  api.seed(namespaces, { metadata: { name: 'default', namespace: '', uid: 'n' }, spec: {} });
  api.seed(pods, pod('one', '10.84.0.2'));
  api.seed(networkPolicies, denyAll);
  enforcer.start();
  await clock.advance(100);
  assert.equal(nft.writes, 0, 'nothing is written before all kinds are known');
  informers.start();
  await clock.advance(100);
  return {
    api,
    clock,
    nft,
    log,
    enforcer,
    bridge,
    isolated: () => [...(nft.sets.get('ingress-pods-v4')?.keys() ?? [])].sort(),
    stop: () => Promise.all([enforcer.stop(), informers.stop()]).then(() => undefined),
  };
}

describe('the enforcer of network policies', () => {
  it('writes once policies, pods and namespaces are known, and each change at once', async () => {
    const { api, clock, nft, enforcer, isolated, stop } = await start();
    await enforcer.whenEnforced();
    assert.deepEqual([isolated(), nft.writes], [['10.84.0.2'], 1]);
    const two = await api.create(pods, pod('two', undefined));
    await clock.advance(5);
    assert.deepEqual(isolated(), ['10.84.0.2'], 'a pod without an address has no entry');
    await api.update(pods, { ...two, ...statusOf('10.84.0.3') }, { subresource: 'status' });
    await clock.advance(5);
    assert.deepEqual(isolated(), ['10.84.0.2', '10.84.0.3']);
    await api.delete(networkPolicies, { namespace: 'default', name: 'deny' });
    await clock.advance(5);
    assert.deepEqual(isolated(), []);
    await stop();
  });

  it('pods of other nodes, of the host’s network, and ended ones are not isolated here', async () => {
    const { api, clock, isolated, stop } = await start();
    api.seed(pods, pod('far', '10.85.0.2', { nodeName: 'other' }));
    api.seed(pods, pod('host', '192.0.2.1', { hostNetwork: true }));
    api.seed(pods, { ...pod('over', '10.84.0.9'), status: { phase: 'Succeeded', podIP: '10.84.0.9' } });
    await clock.advance(50);
    assert.deepEqual(isolated(), ['10.84.0.2']);
    await stop();
  });

  it('a writing that fails is tried again, whole', async () => {
    const { api, clock, nft, log, isolated, stop } = await start();
    nft.failures = 2;
    api.seed(pods, pod('two', '10.84.0.3'));
    await clock.advance(5000);
    assert.deepEqual(isolated(), ['10.84.0.2', '10.84.0.3']);
    assert.ok(log.lines.some(({ message }) => message === 'unable to write the rules of network policies'));
    await stop();
  });

  it('rules that another program flushed are restored by the next check', async () => {
    const { clock, nft, isolated, stop } = await start();
    nft.flush();
    await clock.advance(21_000);
    assert.deepEqual(isolated(), ['10.84.0.2']);
    await stop();
  });

  it('logs once when packets between pods of one bridge bypass the filter', async () => {
    const { clock, log, bridge, stop } = await start();
    bridge.isFiltered = false;
    await clock.advance(40_000);
    assert.equal(
      log.lines.filter(({ message }) => message.startsWith('network policies are not enforced between')).length,
      1,
    );
    await stop();
  });

  it('its rules stay when it stops', async () => {
    const { isolated, stop } = await start();
    await stop();
    assert.deepEqual(isolated(), ['10.84.0.2']);
  });
});

it('an address goes into rules in its canonical form, or not at all', () => {
  const shown = (...ips: string[]): readonly string[] =>
    policyPodOf({ ...pod('p', undefined), status: { podIPs: ips.map((ip) => ({ ip })) } }).addresses;
  assert.deepEqual(shown('010.084.0.2', 'FD00:0:0::1'), ['10.84.0.2', 'fd00::1']);
  assert.deepEqual(shown('10.84.0.2, 10.84.0.3', '1 } add rule', '127.0.0.1', 'fe80::1', '::ffff:127.0.0.1', ''), []);
});

it('ports of restartable init containers count, those of containers that end do not', () => {
  const ports = (name: string, restartPolicy?: 'Always'): Pod['spec']['containers'][number] => ({
    name,
    ports: [{ name, containerPort: 90 }],
    ...(restartPolicy === undefined ? {} : { restartPolicy }),
  });
  const { ports: found } = policyPodOf(
    pod('p', '10.84.0.2', { initContainers: [ports('ends'), ports('stays', 'Always')] }),
  );
  assert.deepEqual(
    found.map(({ name }) => name),
    ['web', 'stays'],
  );
});
