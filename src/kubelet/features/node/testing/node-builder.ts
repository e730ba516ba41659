import type { Node } from '../../../../api/core/node.ts';
import type { NodeFacts, NodeIdentity } from '../compute-node.ts';

/** Builds a node that has no status yet. */
export const bareNode = (name = 'n1'): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, namespace: '', uid: '' },
  spec: {},
});

export function nodeIdentity(given: Partial<NodeIdentity> = {}): NodeIdentity {
  return {
    architecture: 'amd64',
    machineId: 'm',
    systemUuid: 's',
    bootId: 'b',
    kernelVersion: '6.1',
    osImage: 'Debian',
    kubeletVersion: 'v1.36.0',
    reportsProxyVersion: false,
    swapBytes: 1024,
    capacity: { cpu: '4', memory: '8Gi', pods: '110', 'ephemeral-storage': '100Gi' },
    reservation: { cpu: '1' },
    declaredFeatures: ['A'],
    serverPort: 10_250,
    reportsLocalStorage: true,
    addresses: { hostname: 'n1', nodeIps: [], externalCloudProvider: false },
    ...given,
  };
}

/** Returns the facts of a healthy node at the first moment of 2026. */
export function nodeFacts(given: Partial<NodeFacts> = {}): NodeFacts {
  return {
    nowMs: Date.UTC(2026, 0, 1),
    network: { own: ['127.0.0.1', '10.0.0.1', 'fd00::1'], named: [], defaults: { v4: '10.0.0.1', v6: 'fd00::1' } },
    runtimeVersion: 'containerd://1.6.20',
    runtime: {
      handlers: [
        { name: 'runc', recursiveReadOnlyMounts: true, userNamespaces: true },
        { name: '', recursiveReadOnlyMounts: true, userNamespaces: false },
      ],
      supplementalGroupsPolicy: true,
    },
    images: [{ names: ['a:1'], sizeBytes: 5 }],
    pressure: { memory: false, disk: false, pid: false },
    machine: [],
    devices: { capacity: {}, allocatable: {}, removed: [] },
    problems: [],
    openQuestions: [],
    volumesInUse: ['kubernetes.io/csi/d^v'],
    ...given,
  };
}
