import assert from 'node:assert/strict';
import test from 'node:test';
import type { Changes } from '../../api/testing/pod-builder.ts';
import type { OldFault } from '../../api/validation/pod/pod-validation-context.ts';
import { RulesFixture } from './testing/rules-fixture.ts';

const podSpec = { containers: [{ name: 'main', image: 'nginx:1.27' }] };
const labels = { app: 'web' };
const workload = { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: podSpec } };
const jobSpec = {
  ...workload,
  template: { metadata: { labels }, spec: { ...podSpec, restartPolicy: 'Never' } },
  manualSelector: true,
  parallelism: 1,
  completions: 1,
};

interface Kind {
  readonly name: string;
  readonly fixture: RulesFixture;
  /** The path of the pod's description. */
  readonly at: string;
  /** A write that changes neither pods nor templates. */
  readonly harmless: Changes;
}

const kinds: readonly Kind[] = [
  {
    name: 'Pod',
    fixture: new RulesFixture('v1', 'Pod', { spec: podSpec }),
    at: '',
    harmless: { 'metadata.labels.touched': 'yes' },
  },
  {
    name: 'Deployment',
    fixture: new RulesFixture('apps/v1', 'Deployment', { spec: workload }),
    at: 'spec.template.',
    harmless: { 'spec.replicas': 7 },
  },
  {
    name: 'ReplicaSet',
    fixture: new RulesFixture('apps/v1', 'ReplicaSet', { spec: workload }),
    at: 'spec.template.',
    harmless: { 'spec.replicas': 7 },
  },
  {
    name: 'DaemonSet',
    fixture: new RulesFixture('apps/v1', 'DaemonSet', { spec: workload }),
    at: 'spec.template.',
    harmless: { 'spec.minReadySeconds': 7 },
  },
  {
    name: 'Job',
    fixture: new RulesFixture('batch/v1', 'Job', { spec: jobSpec }),
    at: 'spec.template.',
    harmless: { 'spec.parallelism': 7 },
  },
];

const initContainer = { name: 'init', image: 'busybox' };
const notLabel = '-no-label-';
const expression = { key: 'app', operator: 'In', values: [notLabel] };
const spread = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' };
const badValue = /a valid label must be an empty string or consist of/;

/** For each fault, how it gets into a pod, and the error of a create. */
const faults: Readonly<Record<OldFault, { readonly changes: Changes; readonly refusal: RegExp }>> = {
  comparingToleration: {
    changes: { 'spec.tolerations': [{ key: 'load', operator: 'Gt', value: '5', effect: 'NoSchedule' }] },
    refusal: /tolerations\[0\]\.operator: Unsupported value: "Gt"/,
  },
  deletionCost: {
    changes: { 'metadata.annotations': { 'controller.kubernetes.io/pod-deletion-cost': 'dear' } },
    refusal: /pod-deletion-cost\]: Invalid value: "dear": must be a 32bit integer/,
  },
  hostSysctl: {
    changes: {
      'spec.hostNetwork': true,
      'spec.securityContext': { sysctls: [{ name: 'net.ipv4.tcp_syncookies', value: '1' }] },
    },
    refusal:
      /sysctls\[0\]\.name: Invalid value: "net\.ipv4\.tcp_syncookies": may not be specified when 'hostNetwork' is true/,
  },
  indivisibleHugePages: {
    changes: {
      'spec.containers[0].resources': {
        limits: { cpu: '1', 'hugepages-2Mi': '3Mi' },
        requests: { cpu: '1', 'hugepages-2Mi': '3Mi' },
      },
    },
    refusal: /is not positive integer multiple of hugepages-2Mi/,
  },
  labelValueInSelector: {
    changes: {
      'spec.affinity': {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, podAffinityTerm: { topologyKey: 'zone', labelSelector: { matchExpressions: [expression] } } },
          ],
        },
      },
    },
    refusal: badValue,
  },
  nodeAffinityValue: {
    changes: {
      'spec.affinity': {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [expression] }] },
        },
      },
    },
    refusal: badValue,
  },
  restartingInitContainer: {
    changes: {
      'spec.initContainers': [
        { ...initContainer, resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] },
      ],
      'spec.restartPolicy': 'OnFailure',
    },
    refusal: /must not be set to 'RestartContainer' for non-sidecar initContainers/,
  },
  seLinuxChangePolicy: {
    changes: { 'spec.securityContext': { seLinuxChangePolicy: 'MountOption' } },
    refusal: /seLinuxChangePolicy: Unsupported value: "MountOption": supported values: "Recursive"/,
  },
  spreadSelector: {
    changes: { 'spec.topologySpreadConstraints': [{ ...spread, labelSelector: { matchLabels: { app: notLabel } } }] },
    refusal: badValue,
  },
  tokenPath: {
    changes: {
      'spec.serviceAccountName': 'web',
      'spec.volumes': [{ name: 'token', projected: { sources: [{ serviceAccountToken: { path: '../token' } }] } }],
    },
    refusal: /projected\.path: Invalid value: "\.\.\/token": must not contain '\.\.'/,
  },
  userNamespaceOnHostNetwork: {
    changes: { 'spec.hostUsers': false, 'spec.hostNetwork': true },
    refusal: /hostNetwork: Forbidden: when `hostUsers` is false/,
  },
  userNamespaceWithDevices: {
    changes: {
      'spec.hostUsers': false,
      'spec.volumes': [{ name: 'disk', persistentVolumeClaim: { claimName: 'disk' } }],
      'spec.containers[0].volumeDevices': [{ name: 'disk', devicePath: '/dev/x' }],
    },
    refusal: /volumeDevices: Forbidden: when `hostUsers` is false/,
  },
};

const placed = (at: string, changes: Changes): Changes =>
  Object.fromEntries(Object.entries(changes).map(([path, value]) => [`${at}${path}`, value]));
/**
 * Whether the changes are possible for the kind: pods of controllers always restart, so only a fault that needs another
 * policy is left out.
 */
const suits = ({ name }: Kind, changes: Changes): Changes =>
  Object.fromEntries(
    Object.entries(changes).filter(([path]) => path !== 'spec.restartPolicy' || name === 'Job' || name === 'Pod'),
  );

for (const [fault, { changes, refusal }] of Object.entries(faults)) {
  for (const kind of kinds) {
    const { fixture, at, harmless } = kind;
    const given = placed(at, suits(kind, changes));
    test(`${fault}: a new ${kind.name} may not have it, one that has it can be written, one that gets it is refused`, () => {
      assert.match(fixture.refusals(given).join('\n'), refusal);
      assert.deepEqual(fixture.updateRefusals(harmless, given), []);
      assert.match(fixture.updateRefusals(given).join('\n'), refusal);
    });
  }
}

test('a selector with an odd value that a daemon set or a job has may stay; one of a deployment or replica set was never let in', () => {
  const odd = {
    'spec.selector': { matchLabels: labels, matchExpressions: [{ key: 'app', operator: 'NotIn', values: [notLabel] }] },
  };
  const updates = kinds
    .filter(({ name }) => name !== 'Pod')
    .map(({ name, fixture, harmless }) => [
      name,
      fixture.refusals(odd).length > 0,
      fixture.updateRefusals(harmless, odd).length > 0,
    ]);
  assert.deepEqual(updates, [
    ['Deployment', true, true],
    ['ReplicaSet', true, true],
    ['DaemonSet', true, false],
    ['Job', true, false],
  ]);
});

test('an old invalid value does not excuse a new one', () => {
  const deployment = kinds[1]?.fixture;
  const before = placed('spec.template.', faults.nodeAffinityValue.changes);
  assert.match(
    deployment?.updateRefusals(placed('spec.template.', faults.tokenPath.changes), before).join('\n') ?? '',
    faults.tokenPath.refusal,
  );
});

test('a toleration that compares needs a number, and is let through only in objects that have one', () => {
  const deployment = kinds[1]?.fixture;
  const path = 'spec.template.spec.tolerations';
  const withValue = (value: string): Changes => ({
    [path]: [{ key: 'load', operator: 'Lt', value, effect: 'NoSchedule' }],
  });
  const refusalsOf = (value: string): unknown => deployment?.updateRefusals(withValue(value), withValue('1'));
  assert.deepEqual([refusalsOf('-7'), refusalsOf('9223372036854775807')], [[], []]);
  assert.deepEqual(refusalsOf('007'), [
    `${path}[0].value: Invalid value: "007": must be a valid decimal integer in canonical form`,
  ]);
  assert.deepEqual(refusalsOf('9223372036854775808'), [
    `${path}[0].value: Invalid value: "9223372036854775808": strconv.ParseInt: parsing "9223372036854775808": value out of range`,
  ]);
});

test('writes of the status look at annotations alone, and let through what was there', () => {
  const pod = kinds[0]?.fixture;
  const status = { phase: 'Running', qosClass: 'BestEffort' };
  assert.deepEqual(
    pod?.statusRefusals(
      status,
      { qosClass: 'BestEffort' },
      { ...faults.nodeAffinityValue.changes, ...faults.deletionCost.changes },
    ),
    [],
  );
});
