/**
 * Writes the rules of network policies to the kernel. Invariants:
 * 1. Nothing is written before policies, pods and namespaces are known. Until then the rules of an earlier run apply.
 * 2. A change is written within milliseconds. Changes during a write are part of the next one.
 * 3. The rules stay when it stops, so that denied traffic stays denied.
 */
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import { createSettlingLoop } from '../../base/settling-loop.ts';
import { Pace } from '../../base/turn.ts';
import type { ApiClient } from '../../api/client/api-client.ts';
import { createInformer } from '../../api/client/informer.ts';
import type { Informer, Informers } from '../../api/client/informer.ts';
import { namespaces, networkPolicies, pods } from '../../api/client/resource-types.ts';
import type { Container } from '../../api/core/container.ts';
import type { Pod } from '../../api/core/pod.ts';
import { isRestartableInit } from '../../api/pod.ts';
import type { NetworkPolicy } from '../../api/networking/network-policy.ts';
import { CHECK_MS, TableWriter } from '../nftables/table-writer.ts';
import type { Nft } from '../nftables/nft-port.ts';
import { TableDraft } from '../nftables/table-draft.ts';
import { policyPodOf } from './policy-pod.ts';
import { PolicyTable } from './policy-table.ts';

export interface PolicyEnforcerOptions {
  readonly client: ApiClient;
  readonly informers: Informers;
  readonly nft: Nft;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly nodeName: string;
  /** The name of an nftables table of the family `inet`. */
  readonly tableName: string;
  readonly podBridge?: string | undefined;
  /**
   * Enables the packet filter for bridged packets. Returns false if that failed; then packets between pods on one
   * bridge bypass all policies.
   */
  readonly filterBridged: () => boolean;
}

export interface PolicyEnforcer {
  start(): void;
  /** Resolves when the first complete set of rules is in the kernel. */
  whenEnforced(): Promise<void>;
  stop(): Promise<void>;
}

const RETRY_MS = 1000;
export const POLICY_FAMILY = 'inet';
export const policyTable = (prefix: string): string => `${prefix}-policy`;

/** Pending changes, with the latest version of each object. They are applied in turns of the event loop. */
type Change = (table: PolicyTable) => void;

export function createPolicyEnforcer(options: PolicyEnforcerOptions): PolicyEnforcer {
  const { informers, log, nodeName, podBridge, tableName, clock } = options;
  const podInformer = createInformer({ ...options, type: pods, namespace: '', transform: withoutUnusedFields });
  const draft = new TableDraft(POLICY_FAMILY, tableName);
  const table = new PolicyTable({ draft, nodeName, podBridge });
  const writer = new TableWriter({ ...options, draft });
  const pending = new Map<string, Change>();
  const sources = [podInformer, informers.for(namespaces), informers.for(networkPolicies)];
  let isBridgeFiltered = true;

  const drain = async (): Promise<void> => {
    const pace = new Pace(clock);
    // Changes that arrive during a pause are applied as well, because a map is iterated in the order in which entries
    // were added.
    for (const [key, change] of pending) {
      pending.delete(key);
      change(table);
      await pace.rest();
    }
  };
  const checkBridge = (): void => {
    const before = isBridgeFiltered;
    isBridgeFiltered = options.filterBridged();
    if (before && !isBridgeFiltered)
      log.error('network policies are not enforced between pods of this node: bridged packets go past the filter', {
        hint: 'load the kernel module br_netfilter and set net.bridge.bridge-nf-call-iptables=1 and bridge-nf-call-ip6tables=1',
      });
  };
  const loop = createSettlingLoop({
    ...options,
    name: 'network-policy',
    checkMs: CHECK_MS,
    retryMs: RETRY_MS,
    failure: 'unable to write the rules of network policies',
    settle: async () => {
      if (!sources.every((source) => source.hasSynced())) return false;
      checkBridge();
      await drain();
      await writer.write();
      return true;
    },
  });
  const put = (key: string, change: Change): void => {
    pending.set(key, change);
    loop.wake();
  };
  let ends: readonly (() => void)[] = [];
  return {
    start: () => {
      ends = followObjects(informers, podInformer, put);
      for (const source of sources) void source.whenSynced().then(() => loop.wake());
      podInformer.start();
      loop.start();
    },
    whenEnforced: loop.whenSettled,
    stop: async () => {
      ends.forEach((end) => end());
      await Promise.all([podInformer.stop(), loop.stop()]);
    },
  };
}

type Put = (key: string, change: Change) => void;

/** Follows pods, namespaces and policies. Returns a function that ends it. */
function followObjects(informers: Informers, podInformer: Informer<Pod>, put: Put): readonly (() => void)[] {
  const setPod = (pod: Pod, isGone: boolean): void => {
    const policyPod = policyPodOf(pod);
    put(`pod ${policyPod.key}`, (to) => to.setPod(policyPod.key, isGone ? undefined : policyPod));
  };
  const setNamespace = (name: string, labels: Readonly<Record<string, string>> | undefined): void =>
    put(`namespace ${name}`, (to) => to.setNamespace(name, labels));
  const setPolicy = ({ metadata }: NetworkPolicy, policy: NetworkPolicy | undefined): void =>
    put(`policy ${metadata.namespace}/${metadata.name}`, (to) =>
      to.setPolicy(metadata.namespace, metadata.name, policy),
    );
  return [
    podInformer.addHandlers({
      onAdd: (pod) => setPod(pod, false),
      onUpdate: (_before, pod) => setPod(pod, false),
      onDelete: (pod) => setPod(pod, true),
    }),
    informers.for(namespaces).addHandlers({
      onAdd: ({ metadata }) => setNamespace(metadata.name, metadata.labels ?? {}),
      onUpdate: (_before, { metadata }) => setNamespace(metadata.name, metadata.labels ?? {}),
      onDelete: ({ metadata }) => setNamespace(metadata.name, undefined),
    }),
    informers.for(networkPolicies).addHandlers({
      onAdd: (policy) => setPolicy(policy, policy),
      onUpdate: (_before, policy) => setPolicy(policy, policy),
      onDelete: (policy) => setPolicy(policy, undefined),
    }),
  ];
}

/** Keeps only the fields that policies need, because a node reads all pods of the cluster. */
const withoutUnusedFields = ({ metadata, spec, status }: Pod): Pod => ({
  metadata: {
    name: metadata.name,
    namespace: metadata.namespace,
    uid: metadata.uid,
    ...(metadata.resourceVersion === undefined ? {} : { resourceVersion: metadata.resourceVersion }),
    ...(metadata.labels === undefined ? {} : { labels: metadata.labels }),
    ...(metadata.creationTimestamp === undefined ? {} : { creationTimestamp: metadata.creationTimestamp }),
  },
  spec: {
    ...(spec.nodeName === undefined ? {} : { nodeName: spec.nodeName }),
    ...(spec.hostNetwork === undefined ? {} : { hostNetwork: spec.hostNetwork }),
    containers: spec.containers.map(portsAlone),
    initContainers: (spec.initContainers ?? []).filter(isRestartableInit).map(portsAlone),
  },
  status: {
    ...(status?.phase === undefined ? {} : { phase: status.phase }),
    ...(status?.podIP === undefined ? {} : { podIP: status.podIP }),
    ...(status?.podIPs === undefined ? {} : { podIPs: status.podIPs }),
  },
});

const portsAlone = ({ name, ports, restartPolicy }: Container): Container => ({
  name,
  ...(ports === undefined ? {} : { ports }),
  ...(restartPolicy === undefined ? {} : { restartPolicy }),
});
