import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Deployment } from '../../api/apps/deployment.ts';
import type { ReplicaSet } from '../../api/apps/replica-set.ts';
import type { StatefulSet } from '../../api/apps/stateful-set.ts';
import type { Job } from '../../api/batch/job.ts';
import type { Event } from '../../api/core/event.ts';
import { buildPod } from '../scheduler/testing/builders.ts';
import { emptyView } from './cluster-view.ts';
import type { ClusterView } from './cluster-view.ts';
import { explainCluster } from './explain-cluster.ts';
import { explainRefusal } from './refusal.ts';

const T0 = '2026-01-01T00:00:00Z';
const owned = (uid: string) => ({
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'X', name: 'x', uid, controller: true }],
});
const object = (name: string, more: object = {}) => ({
  name,
  namespace: 'default',
  uid: `uid-${name}`,
  creationTimestamp: T0,
  generation: 1,
  ...more,
});
const deployment = (spec: object = {}, status: object = {}) =>
  ({
    metadata: object('web'),
    spec: { replicas: 3, ...spec },
    status: { observedGeneration: 1, ...status },
  }) as unknown as Deployment;
const failed = (message: string) => ({
  conditions: [{ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message, lastTransitionTime: T0 }],
});
const set = (status: object = {}) =>
  ({
    metadata: object('web-1', owned('uid-web')),
    spec: { replicas: 3 },
    status: { observedGeneration: 1, ...status },
  }) as unknown as ReplicaSet;
const pod = (name: string, owner: string, status: object = {}) =>
  buildPod(name, {
    metadata: owned(owner),
    spec: { nodeName: 'n' },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }], ...status },
  });
const shown = (view: Partial<ClusterView>, question: Parameters<typeof explainCluster>[1] = {}): string[] =>
  explainCluster({ ...emptyView, unseen: new Set(['nodes']), ...view }, question).map(
    ({ name, phase, settled, blockers }) =>
      [name, phase, settled ? 'settled' : blockers.map(({ step, cause }) => `${step}: ${cause}`).join('; ')].join(
        ' | ',
      ),
  );
const failedCreate = (uid: string, message: string): Event => ({
  metadata: object('e'),
  involvedObject: { uid },
  type: 'Warning',
  reason: 'FailedCreate',
  message,
  lastTimestamp: T0,
  reportingComponent: '',
  reportingInstance: '',
});

describe('an owner of pods', () => {
  it('is explained by the API server’s response to its ReplicaSet', () => {
    const quota =
      'pods "web-1-x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1';
    const view = {
      deployments: [deployment()],
      replicaSets: [set(failed(quota))],
      pods: [pod('web-1-a', 'uid-web-1')],
    };
    assert.deepEqual(shown(view), [
      'deployment web | 1 of 3 pods | make 2 pods: quota small is exceeded',
      'web-1-a | Running | settled',
    ]);
    const [explanation] = explainCluster({ ...emptyView, unseen: new Set(['nodes']), ...view }, {});
    assert.deepEqual(explanation?.blockers[0], {
      step: 'make 2 pods',
      cause: 'quota small is exceeded',
      sinceMs: Date.parse(T0),
      lastError: quota,
      suggestions: ['raise it, or delete objects that it counts: kubectl describe quota small -n default'],
    });
  });

  it('may not have been seen, be paused or suspended, wait for a pod, or be known from events alone', () => {
    assert.deepEqual(shown({ deployments: [deployment({}, { observedGeneration: 0 })] }), [
      'deployment web | 0 of 3 pods | be processed by its controller: the controller of deployments has not seen the latest spec',
    ]);
    assert.deepEqual(shown({ deployments: [deployment({ paused: true })] }), []);
    assert.deepEqual(shown({ deployments: [deployment({ paused: true })] }, { name: 'web' }), [
      'deployment web | 0 of 3 pods | make 3 pods: it is paused',
    ]);
    const statefulSets = [
      { metadata: object('db'), spec: { replicas: 2 }, status: { observedGeneration: 1 } } as unknown as StatefulSet,
    ];
    assert.deepEqual(
      shown({ statefulSets, pods: [pod('db-0', 'uid-db', { conditions: [], phase: 'Succeeded' })] })[0],
      'statefulset db | 1 of 2 pods | make a pod: it creates its pods in order, and db-0 is not ready',
    );
    const job = (spec: object, status: object = {}) =>
      ({ metadata: object('once'), spec: { parallelism: 1, completions: 1, ...spec }, status }) as unknown as Job;
    assert.deepEqual(
      shown({
        jobs: [job({})],
        events: [failedCreate('uid-once', 'pods "x" is forbidden: violates PodSecurity "restricted:latest": a')],
      }),
      ['job once | 0 of 1 pods | make a pod: the pod security level restricted:latest of the namespace forbids it'],
    );
    assert.deepEqual(shown({ jobs: [job({ suspend: true })] }), []);
    assert.deepEqual(
      shown({ jobs: [job({}, { conditions: [{ type: 'Failed', status: 'True' }] }), job({}, { succeeded: 1 })] }),
      [],
    );
    assert.deepEqual(shown({ replicaSets: [{ ...set(), metadata: object('alone') }] }), [
      'replicaset alone | 0 of 3 pods | make 3 pods: 0 of 3 are there; its controller has not made more yet',
    ]);
  });

  it('is found by its name, with its pods, and kept apart from others of the name', () => {
    const view = {
      deployments: [deployment({ replicas: 1 })],
      replicaSets: [set()],
      pods: [pod('web-1-a', 'uid-web-1'), pod('web', 'uid-other'), buildPod('elsewhere', { namespace: 'other' })],
    };
    assert.deepEqual(shown(view, { name: 'deploy/web', namespace: 'default' }), [
      'deployment web | 1 of 1 pods | settled',
      'web-1-a | Running | settled',
    ]);
    assert.deepEqual(shown(view, { name: 'pod/web' }), ['web | Running | settled']);
    assert.deepEqual(shown(view, { name: 'web', namespace: 'other' }), []);
    assert.equal(shown(view, { namespace: 'other' }).length, 1);
  });
});

describe('a refusal of the API server', () => {
  it('is read for what it is about; what is not known is shown as it was said', () => {
    const causes = [
      'exceeded quota: q, requested: cpu=2',
      'failed quota: q: must specify limits.cpu for: main',
      'admission webhook "a.example.com" denied the request: no',
      'failed calling webhook "a.example.com": no endpoints',
      'error looking up service account default/robot: serviceaccount "robot" not found',
      'pods "x" is forbidden: no PriorityClass with name high was found',
      'maximum cpu usage per Container is 1, but limit is 2',
      'unable to create new content in namespace x because it is being terminated',
      "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
      'something else',
    ].map((message) => explainRefusal(message, 'ns').cause);
    assert.deepEqual(causes, [
      'quota q is exceeded',
      'quota q requires the pod to set limits.cpu',
      'admission webhook a.example.com denies it',
      'admission webhook a.example.com does not respond',
      'service account robot does not exist',
      'priority class high does not exist',
      'a LimitRange of the namespace forbids it',
      'namespace ns is being deleted',
      'the policy p denies it',
      'the API server rejects its pods',
    ]);
  });
});
