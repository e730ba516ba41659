// Objects that no well-behaved program writes: annotations of nodes, endpoints and policies that try to take the traffic
// of others, or to break the programs that read them.
import { endpointSlices, networkPolicies, nodes } from '../../src/api/client/resource-types.ts';
import type { FakeApiClient } from '../../src/api/client/testing/fake-api-client.ts';
import { slice } from '../../src/node-network/service-routing/testing/service-builders.ts';

const LONG = 'x'.repeat(100_000);
const addresses = ['127.0.0.1', '224.0.0.1', '192.168.0.1', '10.244.0.7', '10.84.0.250', '999.1.1.1', '::1', '', LONG];
const data = [
  ...['{', '[]', 'null', '7', LONG, '{"VtepMAC":{"toString":1}}', '{"VtepMAC":"ff:ff:ff:ff:ff:ff"}'],
  ...['{"VtepMAC":"02:00:00:00:00:01"}', '{"VtepMAC":"02:00:00:00:00:01; reboot","VNI":1e999}'],
];
const ranges = [
  '10.244.0.0/24',
  '10.244.0.0/8',
  '0.0.0.0/0',
  '::/0',
  '10.244.1.128/25',
  '10.96.0.0/16',
  '10.244.7.0/33',
];
const names = ['evil', '__proto__', 'constructor'];
const words = [...addresses, '10.84.0.1\n-F', '$(reboot)', '10.84.0.9; flush ruleset', '0.0.0.0/0'];

/** `pick(n)` returns an integer below n. */
export function seedHostileObject(api: FakeApiClient, pick: (count: number) => number): void {
  const one = (list: readonly string[]): string => list[pick(list.length)] ?? '';
  const name = one(names);
  const flannel = (word: string): string => `flannel.alpha.coreos.com/${word}`;
  switch (pick(4)) {
    case 0:
      return api.remove(nodes, { namespace: '', name });
    case 1:
      api.seed(nodes, {
        metadata: {
          ...{ name, namespace: '', uid: '' },
          annotations: {
            [flannel('kube-subnet-manager')]: 'true',
            [flannel('backend-type')]: one(['vxlan', 'vxlan', 'host-gw', LONG]),
            [flannel('backend-data')]: one(data),
            [flannel('public-ip')]: one([...addresses, '192.168.0.66']),
            [flannel('public-ip-overwrite')]: one(addresses),
          },
        },
        spec: { podCIDRs: [one(ranges), one(ranges)] },
      });
      return;
    case 2:
      api.seed(endpointSlices, slice(`web-${pick(6)}`, [one(words), one(words)]));
      return;
    default:
      api.seed(networkPolicies, {
        metadata: { name: 'evil', namespace: 'default', uid: '' },
        spec: {
          podSelector: { matchLabels: { app: `web-${pick(6)}` } },
          policyTypes: ['Ingress', 'Egress'],
          ingress: [{ from: [{ ipBlock: { cidr: one(words), except: [one(words)] } }] }],
          egress: [{ ports: [{ port: one(words), endPort: 70_000 - pick(70_000) }] }],
        },
      });
  }
}
