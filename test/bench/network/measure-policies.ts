// How soon a policy that is created is in force among many policies and pods.
import { createInformers } from '../../../src/api/client/informer.ts';
import { namespaces, networkPolicies, pods } from '../../../src/api/client/resource-types.ts';
import { FakeApiClient } from '../../../src/api/client/testing/fake-api-client.ts';
import type { NetworkPolicy } from '../../../src/api/networking/network-policy.ts';
import { buildPod } from '../../../src/api/testing/pod-builder.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { recordingLog } from '../../../src/base/testing/recording-log.ts';
import { seededRandom, systemRandom } from '../../../src/base/random.ts';
import { createNft } from '../../../src/node-network/adapters/nft.ts';
import { createPolicyEnforcer } from '../../../src/node-network/network-policy/policy-enforcer.ts';

const POLICIES = 200;
const PODS = 2000;
const LOCAL_PODS = 110;
const CHANGES = 15;

const policyOf = (at: number): NetworkPolicy => ({
  metadata: { name: `p${at}`, namespace: 'default', uid: `p${at}` },
  spec: {
    podSelector: { matchLabels: { app: `a${at % 100}` } },
    policyTypes: ['Ingress'],
    ingress: [
      {
        from: [{ podSelector: { matchLabels: { app: `a${(at + 1) % 100}` } } }],
        ports: [{ protocol: 'TCP', port: 80 }],
      },
    ],
  },
});

/** Milliseconds from the creation of a policy until the transaction with its rules ends. */
export async function measurePolicies(space: string): Promise<readonly number[]> {
  const api = new FakeApiClient({ clock: systemClock, random: seededRandom(1) });
  api.seed(namespaces, { metadata: { name: 'default', namespace: '', uid: 'd' }, spec: {} });
  for (let at = 0; at < PODS; at += 1)
    api.seed(
      pods,
      buildPod({
        'metadata.name': `pod-${at}`,
        'metadata.uid': `pod-${at}`,
        'metadata.labels': { app: `a${at % 100}` },
        'spec.nodeName': at < LOCAL_PODS ? 'here' : 'there',
        status: { phase: 'Running', podIPs: [{ ip: `10.128.${Math.floor(at / 250)}.${(at % 250) + 1}` }] },
      }),
    );
  for (let at = 0; at < POLICIES; at += 1) api.seed(networkPolicies, policyOf(at));
  const parts = { clock: systemClock, random: systemRandom, log: recordingLog() };
  const informers = createInformers({ client: api, ...parts });
  let written = (): void => undefined;
  const nft = createNft(['ip', 'netns', 'exec', space]);
  const enforcer = createPolicyEnforcer({
    ...{ client: api, informers, nodeName: 'here', tableName: 'bench-policy', ...parts },
    nft: {
      ...nft,
      apply: async (text) => {
        await nft.apply(text);
        written();
      },
    },
    filterBridged: () => true,
  });
  enforcer.start();
  informers.start();
  await enforcer.whenEnforced();
  const changesMs: number[] = [];
  for (let at = 0; at < CHANGES; at += 1) {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    written = () => resolve(undefined);
    const sinceMs = performance.now();
    await api.create(networkPolicies, policyOf(POLICIES + at));
    await promise;
    changesMs.push(performance.now() - sinceMs);
  }
  await enforcer.stop();
  await informers.stop();
  return changesMs;
}
