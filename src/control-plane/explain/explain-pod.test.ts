import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Event } from '../../api/core/event.ts';
import type { PersistentVolumeClaim } from '../../api/core/persistent-volume-claim.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { StorageClass } from '../../api/storage/storage-class.ts';
import { buildNode, buildPod } from '../scheduler/testing/builders.ts';
import { emptyView } from './cluster-view.ts';
import type { ClusterView } from './cluster-view.ts';
import { explainPod } from './explain-pod.ts';
import { snapshotOf } from './static-snapshot.ts';

const T0 = '2026-01-01T00:00:00Z';
const t0 = Date.parse(T0);
const ready = { conditions: [{ type: 'Ready', status: 'True' }] };
const node = (name: string, changes: Parameters<typeof buildNode>[1] = {}) =>
  buildNode(name, {
    ...changes,
    status: {
      allocatable: { cpu: '4', memory: '8Gi', pods: '110', ...changes.allocatable },
      ...ready,
      ...changes.status,
    },
  });
const view = (parts: Partial<ClusterView>): ClusterView => ({ ...emptyView, ...parts });
const explain = (pod: Pod, parts: Partial<ClusterView> = {}) => {
  const all = view({ ...parts, pods: [pod, ...(parts.pods ?? [])] });
  return explainPod(pod, all, () => snapshotOf(all));
};
const only = (pod: Pod, parts: Partial<ClusterView> = {}) => {
  const blockers = explain(pod, parts);
  assert.equal(blockers.length, 1, JSON.stringify(blockers));
  return blockers[0] as (typeof blockers)[number];
};
const metadata = { creationTimestamp: T0 };
const pending = (message: string) => ({
  phase: 'Pending',
  conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message, lastTransitionTime: T0 }],
});
const warning = (uid: string, reason: string, message: string): Event => ({
  metadata: { name: 'e', namespace: 'default', uid: 'e' },
  involvedObject: { uid },
  type: 'Warning',
  reason,
  message,
  lastTimestamp: T0,
  reportingComponent: '',
  reportingInstance: '',
});

describe('a pod without a node', () => {
  it('an unscheduled pod has the reason of each node, with amounts, what the scheduler said, and what would help', () => {
    const pod = buildPod('big', {
      requests: { cpu: '3', memory: '1Gi' },
      status: pending('0/3 nodes are available: ...'),
    });
    const busy = buildPod('busy', { requests: { cpu: '1500m' }, spec: { nodeName: 'b' } });
    const blocker = only(pod, {
      pods: [busy],
      nodes: [
        node('a', { taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] }),
        node('b'),
        node('c', { spec: { unschedulable: true } }),
      ],
    });
    assert.deepEqual(
      [blocker.step, blocker.cause, blocker.sinceMs, blocker.lastError],
      ['find a node', 'none of 3 nodes fits', t0, '0/3 nodes are available: ...'],
    );
    assert.deepEqual(blocker.details, [
      'a: node(s) had untolerated taint(s)',
      'b: Insufficient cpu (asks for 3, free 2500m of 4)',
      'c: node(s) were unschedulable',
    ]);
    assert.deepEqual(
      blocker.suggestions?.map((suggestion) => suggestion.split(':')[0]),
      [
        'add a toleration to the pod, or remove the taint',
        'lower the requests of the pod, free resources on a node, or add a node',
        'make the node schedulable',
      ],
    );
  });

  it('an unscheduled pod has what it wants of labels and of neighbours', () => {
    const selects = buildPod('selects', { spec: { nodeSelector: { disk: 'ssd' } } });
    assert.deepEqual(only(selects, { nodes: [node('a')] }).details, [
      "a: node(s) didn't match Pod's node affinity/selector",
    ]);
    const anti = {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'x' } } },
        ],
      },
    };
    const lonely = buildPod('lonely', { labels: { app: 'x' }, spec: { affinity: anti } });
    const there = buildPod('there', { labels: { app: 'x' }, spec: { nodeName: 'a' } });
    assert.match(only(lonely, { pods: [there], nodes: [node('a')] }).details?.[0] ?? '', /anti-affinity/);
  });

  it('an unscheduled pod may have no node at all, one that would take it now, or a scheduler of its own', () => {
    assert.equal(only(buildPod('a')).cause, 'no nodes available to schedule pods');
    assert.match(only(buildPod('a'), { nodes: [node('n')] }).cause, /has not processed it yet; node n fits/);
    assert.match(only(buildPod('a', { status: pending('full') }), { nodes: [node('n')] }).cause, /node n fits now/);
    assert.match(
      only(buildPod('a', { spec: { schedulerName: 'mine' } }), { nodes: [node('n')] }).cause,
      /its scheduler mine has not reported anything/,
    );
    assert.match(
      only(buildPod('a', { status: pending('full') }), { unseen: new Set(['nodes']) }).cause,
      /need permission to list all nodes/,
    );
  });

  it('an unscheduled pod is held back by its gates', () => {
    assert.deepEqual(only(buildPod('a', { metadata, spec: { schedulingGates: [{ name: 'x/quota' }] } })), {
      step: 'be scheduled',
      cause: 'it has scheduling gates: x/quota',
      sinceMs: t0,
      suggestions: ['the controller that set a gate removes it when the pod may be scheduled'],
    });
  });
});

describe('a claim of a pod', () => {
  const withClaim = buildPod('a', {
    metadata,
    spec: { volumes: [{ name: 'data', persistentVolumeClaim: { claimName: 'c' } }] },
  });
  const claim = (spec: object, more: object = {}) =>
    ({
      metadata: { name: 'c', namespace: 'default', uid: 'uid-c', creationTimestamp: T0, ...more },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, ...spec },
      status: { phase: 'Pending' },
    }) as PersistentVolumeClaim;
  const storageClass = (provisioner: string, volumeBindingMode: string) =>
    ({ metadata: { name: 'fast', namespace: '', uid: 'sc' }, provisioner, volumeBindingMode }) as StorageClass;
  const first = (parts: Partial<ClusterView>): [string | undefined, string | undefined] => {
    const [blocker] = explain(withClaim, { nodes: [node('n')], ...parts });
    return [blocker?.cause, blocker?.suggestions?.[0]];
  };

  it('a claim is missing, or has no class that could serve it', () => {
    assert.deepEqual(first({}), ['claim c does not exist', 'create the claim c, or use another one in the pod']);
    assert.match(first({ claims: [claim({})] })[0] ?? '', /has no storage class, and there is no default class/);
    assert.match(
      first({ claims: [claim({ storageClassName: '' })] })[0] ?? '',
      /no PersistentVolume without a class matches it/,
    );
    assert.deepEqual(first({ claims: [claim({ storageClassName: 'fast' })] }), [
      'claim c: storage class fast does not exist',
      'create the class, or use one of: there is none',
    ]);
  });

  it('a claim that is missing leads to no advice but to make it', () => {
    const last = explain(withClaim, { nodes: [node('n')] }).at(-1);
    assert.deepEqual(
      [last?.cause, last?.suggestions],
      ['persistentvolumeclaim "c" not found', ['check the claims of the pod: kubectl get pvc']],
    );
  });

  it('waits for its provisioner, whose last failure is shown', () => {
    const parts = {
      claims: [claim({ storageClassName: 'fast' })],
      storageClasses: [storageClass('csi.example.com', 'Immediate')],
      events: [warning('uid-c', 'ProvisioningFailed', 'no space')],
    };
    const [blocker] = explain(withClaim, { nodes: [node('n')], ...parts });
    assert.deepEqual(
      [blocker?.step, blocker?.cause, blocker?.lastError, blocker?.sinceMs],
      ['volume data', 'claim c: the provisioner csi.example.com has not created its volume yet', 'no space', t0],
    );
  });

  it('a claim that waits for the node of the pod is no reason of its own; one with a node is', () => {
    const late = { nodes: [node('n')], storageClasses: [storageClass('csi.example.com', 'WaitForFirstConsumer')] };
    assert.deepEqual(
      explain(withClaim, { ...late, claims: [claim({ storageClassName: 'fast' })] }).map(({ step }) => step),
      ['find a node'],
    );
    const chosen = claim({ storageClassName: 'fast' }, { annotations: { 'volume.kubernetes.io/selected-node': 'n' } });
    assert.match(first({ ...late, claims: [chosen] })[0] ?? '', /has not created its volume yet/);
    assert.match(
      first({
        storageClasses: [storageClass('kubernetes.io/no-provisioner', 'Immediate')],
        claims: [claim({ storageClassName: 'fast' })],
      })[1] ?? '',
      /create a PersistentVolume of at least 1Gi .* storageClassName fast/,
    );
  });
});

describe('a pod on a node', () => {
  const spec = { nodeName: 'n' };
  const status = (state: object, more: object = {}) => ({
    phase: 'Pending',
    containerStatuses: [{ name: 'main', image: '', imageID: '', ready: false, restartCount: 0, state, ...more }],
  });
  const on = (state: object, more: object = {}, events: readonly Event[] = []) =>
    only(buildPod('a', { metadata, spec, status: status(state, more) }), { nodes: [node('n')], events });

  it('a scheduled pod whose node is gone or not ready', () => {
    assert.equal(only(buildPod('a', { spec })).cause, 'node n does not exist');
    const lost = node('n', {
      status: {
        conditions: [
          {
            type: 'Ready',
            status: 'Unknown',
            reason: 'NodeStatusUnknown',
            message: 'Kubelet stopped posting node status.',
            lastTransitionTime: T0,
          },
        ],
      },
    });
    const blocker = only(buildPod('a', { spec }), { nodes: [lost] });
    assert.deepEqual(
      [blocker.step, blocker.cause, blocker.sinceMs],
      ['run on node n', 'node n is not ready (NodeStatusUnknown: Kubelet stopped posting node status.)', t0],
    );
    assert.match(blocker.suggestions?.[0] ?? '', /systemctl status kubelet/);
  });

  it('a scheduled pod that its agent has not taken up', () =>
    assert.match(
      only(buildPod('a', { spec }), { nodes: [node('n')] }).cause,
      /its agent has not reported anything yet/,
    ));

  it('a scheduled pod whose image cannot be pulled', () => {
    const pull = (message: string) => on({ waiting: { reason: 'ImagePullBackOff', message } });
    const { step, cause, lastError, suggestions } = pull('app:1: not found');
    assert.deepEqual(
      { step, cause, lastError, suggestions },
      {
        step: 'pull image app:1',
        cause: 'ImagePullBackOff',
        lastError: 'app:1: not found',
        suggestions: ['correct the name or tag of the image'],
      },
    );
    assert.deepEqual(pull('dial tcp: lookup registry: no such host').suggestions, [
      'check that the node reaches the registry, or correct the image name',
    ]);
    assert.match(pull('pull access denied').suggestions?.[0] ?? '', /imagePullSecret/);
  });

  it('a scheduled pod whose container ends again and again, cannot be created, or is being created', () => {
    const crash = on(
      { waiting: { reason: 'CrashLoopBackOff' } },
      { lastState: { terminated: { exitCode: 2, reason: 'Error', finishedAt: T0 } } },
    );
    assert.deepEqual(
      [crash.step, crash.lastError, crash.sinceMs, crash.suggestions],
      ['restart container main', 'exit code 2 (Error)', t0, ['kubectl logs a -n default -c main --previous']],
    );
    assert.match(
      on({ waiting: { reason: 'CreateContainerConfigError', message: 'configmap "x" not found' } }).suggestions?.[0] ??
        '',
      /create the missing ConfigMap or Secret/,
    );
    assert.equal(
      on({ waiting: { reason: 'ContainerCreating' } }, {}, [warning('uid-a', 'FailedMount', 'no such disk')]).lastError,
      'FailedMount: no such disk',
    );
  });

  it('a scheduled pod that is not ready: by a probe, by an init container, by a gate', () => {
    const probe = on({ running: { startedAt: T0 } }, { started: true }, [
      warning('uid-a', 'Unhealthy', 'Readiness probe failed: 503'),
    ]);
    assert.deepEqual(
      [probe.step, probe.lastError],
      ['readiness of container main', 'Unhealthy: Readiness probe failed: 503'],
    );
    const init = buildPod('a', {
      spec: {
        ...spec,
        initContainers: [
          { name: 'first', image: 'x' },
          { name: 'second', image: 'x' },
        ],
      },
      status: {
        ...status({ waiting: { reason: 'PodInitializing' } }),
        initContainerStatuses: [
          {
            name: 'first',
            image: '',
            imageID: '',
            ready: false,
            restartCount: 0,
            state: { running: { startedAt: T0 } },
          },
          {
            name: 'second',
            image: '',
            imageID: '',
            ready: false,
            restartCount: 0,
            state: { waiting: { reason: 'PodInitializing' } },
          },
        ],
      },
    });
    assert.equal(only(init, { nodes: [node('n')] }).step, 'init container first');
    const gated = buildPod('a', {
      spec: { ...spec, readinessGates: [{ conditionType: 'lb/ready' }] },
      status: {
        phase: 'Running',
        containerStatuses: [
          { name: 'main', image: '', imageID: '', ready: true, restartCount: 0, state: { running: {} } },
        ],
      },
    });
    assert.deepEqual(
      [only(gated, { nodes: [node('n')] }).step, only(gated, { nodes: [node('n')] }).cause],
      ['readiness gate lb/ready', 'nothing has set this condition yet'],
    );
  });

  it('a scheduled pod whose own agent answers is explained by that', () => {
    const answer = {
      uid: 'x',
      namespace: 'default',
      name: 'a',
      phase: 'Pending',
      settled: false,
      blockers: [{ step: 'volume data', cause: 'it is being attached', sinceMs: 5, nextTryAtMs: 9 }],
      suggestions: ['attach it'],
      timeline: [],
    };
    const pod = buildPod('a', { spec, status: status({ waiting: { reason: 'ContainerCreating' } }) });
    assert.deepEqual(only(pod, { nodes: [node('n')], agents: new Map([['default/a', answer]]) }), {
      step: 'volume data',
      cause: 'it is being attached',
      sinceMs: 5,
      nextTryAtMs: 9,
      suggestions: ['attach it'],
    });
  });

  it('a scheduled pod whose own agent answers gets suggestions from its status, too', () => {
    const explained = (
      state: object,
      blockers: readonly { step: string; cause: string; lastError?: string }[],
      suggestions: readonly string[] = [],
      more: object = {},
    ) => {
      const answer = {
        uid: 'x',
        namespace: 'default',
        name: 'a',
        phase: 'Pending',
        settled: false,
        blockers: blockers.map((each) => ({ ...each, sinceMs: 5 })),
        suggestions,
        timeline: [],
      };
      return explain(buildPod('a', { spec, status: status(state, more) }), {
        nodes: [node('n')],
        agents: new Map([['default/a', answer]]),
      }).map((blocker) => blocker.suggestions ?? []);
    };
    const image = { waiting: { reason: 'ImagePullBackOff', message: 'app:1: not found' } };
    assert.deepEqual(explained(image, [{ step: 'start container main', cause: 'ImagePullBackOff' }]), [
      ['correct the name or tag of the image'],
    ]);
    assert.deepEqual(
      explained(
        image,
        [
          { step: 'volume v', cause: 'secret "s" not found' },
          { step: 'start container main', cause: 'ImagePullBackOff' },
        ],
        ['make Secret s'],
      ),
      [['make Secret s'], ['correct the name or tag of the image']],
    );
    assert.deepEqual(
      explained(
        { waiting: { reason: 'CreateContainerConfigError', message: 'configmap "x" not found' } },
        [{ step: 'start container main', cause: 'CreateContainerConfigError' }],
        ['make ConfigMap x'],
      ),
      [['make ConfigMap x']],
    );
    assert.deepEqual(
      explained(
        { waiting: { reason: 'CrashLoopBackOff' } },
        [{ step: 'restart container main', cause: 'CrashLoopBackOff' }],
        [],
        { lastState: { terminated: { exitCode: 2 } } },
      ),
      [['kubectl logs a -n default -c main --previous']],
    );
    assert.deepEqual(
      explained({ waiting: { reason: 'ContainerCreating' } }, [
        { step: 'start container main', cause: 'its turn has not come yet' },
      ]),
      [[]],
    );
  });

  it('a scheduled pod that runs and is ready, or is over, has nothing to explain', () => {
    assert.deepEqual(
      explain(buildPod('a', { spec, status: { phase: 'Running', ...ready } }), { nodes: [node('n')] }),
      [],
    );
    for (const phase of ['Succeeded', 'Failed'])
      assert.deepEqual(explain(buildPod('a', { spec, status: { phase } })), []);
  });
});

describe('a pod that is being deleted', () => {
  const deleted = (more: object = {}, status: object = {}) =>
    buildPod('a', {
      spec: { nodeName: 'n' },
      metadata: { deletionTimestamp: '2026-01-01T00:00:30Z', deletionGracePeriodSeconds: 30, ...more },
      status: { phase: 'Running', ...status },
    });

  it('is in its grace period, held by finalizers, or on a node that says nothing', () => {
    const containerStatuses = [
      { name: 'main', image: '', imageID: '', ready: true, restartCount: 0, state: { running: {} } },
    ];
    const graced = only(deleted({}, { containerStatuses }), { nodes: [node('n')] });
    assert.deepEqual(
      [graced.cause, graced.sinceMs, graced.nextTryAtMs],
      ['its containers are within their grace period: main', t0, t0 + 30_000],
    );
    assert.equal(
      only(deleted({ finalizers: ['x/y', 'z'] }), { nodes: [node('n')] }).cause,
      'it has finalizers: x/y, z',
    );
    const gone = only(deleted({ finalizers: ['x/y'] }));
    assert.equal(gone.cause, 'node n does not exist, so nothing says that its containers have ended');
    assert.match(gone.suggestions?.at(-1) ?? '', /kubectl delete pod a -n default --force/);
  });
});
