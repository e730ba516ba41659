import type { StatefulSet, StatefulSetSpec } from '../../../../api/apps/stateful-set.ts';
import type { OwnerReference } from '../../../../api/core/meta.ts';
import type { PersistentVolumeClaim } from '../../../../api/core/persistent-volume-claim.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import { buildPod } from '../../../../api/testing/pod-builder.ts';
import type { SetFacts } from '../set-plan.ts';

const NOW_MS = Date.parse('2026-01-01T01:00:00Z');
const READY_SINCE = '2026-01-01T00:00:00Z';

export const dataTemplate: PersistentVolumeClaim = {
  metadata: { name: 'data', namespace: '', uid: '' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
};

export function buildSet(spec: Partial<StatefulSetSpec> = {}, metadata: object = {}): StatefulSet {
  return {
    metadata: { name: 'db', namespace: 'default', uid: 'set', generation: 3, ...metadata },
    spec: {
      replicas: 3,
      serviceName: 'db',
      selector: { matchLabels: { app: 'db' } },
      template: { metadata: { labels: { app: 'db' } }, spec: buildPod().spec },
      podManagementPolicy: 'OrderedReady',
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } },
      ...spec,
    },
  };
}

/**
 * Builds a pod of the set from words: `new` or `old` (its revision), `ready`, `running` (and not ready), `failed`,
 * `done`, `leaving`, and `data` (it has its volume `data`).
 */
export function buildMember(ordinal: number | string, words: string, changes: Record<string, unknown> = {}): Pod {
  const has = (word: string): boolean => words.split(' ').includes(word);
  const name = `db-${ordinal}`;
  const phase = (['Failed', 'Succeeded', 'Running', 'Running'] as const)[
    ['failed', 'done', 'running', 'ready'].findIndex(has)
  ];
  return buildPod({
    'metadata.name': name,
    'metadata.uid': name,
    'metadata.labels': {
      'statefulset.kubernetes.io/pod-name': name,
      'controller-revision-hash': has('new') ? 'new' : 'old',
    },
    ...(has('data') && { 'spec.volumes': [{ name: 'data', persistentVolumeClaim: { claimName: `data-${name}` } }] }),
    ...(has('leaving') && { 'metadata.deletionTimestamp': READY_SINCE }),
    ...(phase !== undefined && { 'status.phase': phase }),
    ...(has('ready') && {
      'status.conditions': [{ type: 'Ready', status: 'True', lastTransitionTime: READY_SINCE }],
    }),
    ...changes,
  });
}

export interface GivenClaim {
  readonly owners?: readonly OwnerReference[];
  readonly leaving?: boolean;
}

export function buildClaim(ordinal: number, { owners, leaving }: GivenClaim = {}): PersistentVolumeClaim {
  return {
    metadata: {
      ...{ name: `data-db-${ordinal}`, namespace: 'default', uid: `claim-${ordinal}` },
      ...(owners !== undefined && { ownerReferences: [...owners] }),
      ...(leaving === true && { deletionTimestamp: READY_SINCE }),
    },
    spec: dataTemplate.spec,
  };
}

export const setOwner: OwnerReference = {
  ...{ apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: 'set' },
  ...{ controller: true, blockOwnerDeletion: true },
};
export const podOwner = (ordinal: number, uid = `db-${ordinal}`): OwnerReference => ({
  ...{ apiVersion: 'v1', kind: 'Pod', name: `db-${ordinal}`, uid },
  ...{ controller: true, blockOwnerDeletion: true },
});

export interface GivenSet {
  readonly spec?: Partial<StatefulSetSpec>;
  readonly metadata?: object;
  readonly pods?: readonly Pod[];
  readonly claims?: readonly PersistentVolumeClaim[];
}

/** Builds the facts. The revisions are named `old` and `new`. */
export function buildSetFacts({ spec, metadata, pods = [], claims = [] }: GivenSet): SetFacts {
  const set = buildSet(spec, metadata);
  return {
    set,
    revisions: {
      current: { name: 'old', template: set.spec.template },
      update: { name: 'new', template: set.spec.template },
    },
    pods,
    claimOf: (name) => claims.find((each) => each.metadata.name === name),
    nowMs: NOW_MS,
  };
}
