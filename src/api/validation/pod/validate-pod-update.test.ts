import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Changes } from '../../testing/pod-builder.ts';
import { buildPod } from '../../testing/pod-builder.ts';
import { permissivePolicy } from '../cluster-policy.ts';
import { validateEphemeralContainersUpdate, validatePodUpdate, validateResizeUpdate } from './validate-pod-update.ts';

/** The old pod, the new pod, and the expected errors: the field and the start of the message. */
type Row = readonly [what: string, before: Changes, after: Changes, ...errors: string[]];

function testRows(validate: typeof validatePodUpdate, rows: readonly Row[]): void {
  for (const [what, before, after, ...errors] of rows)
    it(what, () => {
      const found = validate(buildPod(after), buildPod(before), permissivePolicy);
      const shown = found.map(({ field, message }, index) =>
        `${field}: ${message}`.slice(0, errors[index]?.length ?? Infinity),
      );
      assert.deepEqual(shown, errors);
    });
}

const mirror: Changes = { 'spec.nodeName': 'n', 'metadata.annotations': { 'kubernetes.io/config.mirror': 'x' } };
const deadline = (seconds: unknown): Changes => ({ 'spec.activeDeadlineSeconds': seconds });
const deadlineRange = 'spec.activeDeadlineSeconds: Invalid value: ';
const fixed = 'spec: Forbidden: pod updates may not change fields other than';
const init = (image: string, more: object = {}): Changes => ({
  'spec.initContainers': [{ name: 'i', image, ...more }],
});

const toleration = { key: 'k', operator: 'Equal', value: 'v', effect: 'NoExecute', tolerationSeconds: 5 };
const tolerations = (...list: object[]): Changes => ({ 'spec.tolerations': list });
const keepTolerations =
  'spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds';

const requirement = (key: string): object => ({ key, operator: 'Exists' });
const gates = (...names: string[]): Changes => ({ 'spec.schedulingGates': names.map((name) => ({ name })) });
const nodeTerms = (...terms: object[]): Changes => ({
  ...gates('g.io/a'),
  'spec.affinity': {
    nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } },
  },
});
const termsField = 'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';
const one = { matchExpressions: [requirement('a')] };

describe('an update of a pod may change', () => {
  testRows(validatePodUpdate, [
    ['nothing', {}, {}],
    ['labels', {}, { 'metadata.labels': { a: 'b' } }],
    ['images', {}, { 'spec.containers[0].image': 'other:1' }],
    ['images of init containers', init('a'), init('b')],
    ['a deadline, to an earlier one', deadline(10), deadline(9)],
    ['a deadline, from none', {}, deadline(1)],
    ['a deadline, to the longest', {}, deadline(2147483647)],
    [
      'tolerations, by more and by their seconds',
      tolerations(toleration),
      tolerations({ ...toleration, tolerationSeconds: 9 }, { operator: 'Exists' }),
    ],
    ['scheduling gates, by taking some away', gates('g.io/a', 'g.io/b'), gates('g.io/b')],
    [
      'the grace period of a pod that had a negative one, to 1',
      { 'spec.terminationGracePeriodSeconds': -1 },
      { 'spec.terminationGracePeriodSeconds': 1 },
    ],
    [
      'the node selector of a gated pod, by more',
      { ...gates('g.io/a'), 'spec.nodeSelector': { a: 'b' } },
      { ...gates('g.io/a'), 'spec.nodeSelector': { a: 'b', c: 'd' } },
    ],
    ['the node affinity of a gated pod, from none', gates('g.io/a'), nodeTerms(one)],
    [
      'the terms of a gated pod, by more requirements',
      nodeTerms(one),
      nodeTerms({ matchExpressions: [requirement('a'), requirement('b')] }),
    ],
    [
      'the preferred nodes of a gated pod',
      gates('g.io/a'),
      {
        ...gates('g.io/a'),
        'spec.affinity': {
          nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, preference: one }] },
        },
      },
    ],
  ]);
});

describe('an update of a pod may not change', () => {
  const changeOf = (field: string, before: unknown, after: unknown): Row => [
    field,
    { [`spec.${field}`]: before },
    { [`spec.${field}`]: after },
    fixed,
  ];
  testRows(validatePodUpdate, [
    changeOf('restartPolicy', 'Always', 'Never'),
    changeOf('nodeName', 'n1', 'n2'),
    changeOf('nodeSelector', { a: 'b' }, { a: 'b', c: 'd' }),
    changeOf('terminationGracePeriodSeconds', 5, 1),
    changeOf('terminationGracePeriodSeconds', 0, 1),
    changeOf('containers[0].name', 'main', 'other'),
    [
      'a negative grace period to another than 1',
      { 'spec.terminationGracePeriodSeconds': -1 },
      { 'spec.terminationGracePeriodSeconds': 2 },
      fixed,
    ],
    ['the command of an init container', init('a'), init('a', { command: ['x'] }), fixed],
    ['the affinity of a pod without gates', {}, { ...nodeTerms(one), 'spec.schedulingGates': undefined }, fixed],
    [
      'the affinity to other pods of a gated pod',
      gates('g.io/a'),
      {
        ...gates('g.io/a'),
        'spec.affinity': {
          podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'a' }] },
        },
      },
      fixed,
    ],
    [
      'the number of containers',
      init('a'),
      {},
      'spec.initContainers: Forbidden: pod updates may not add or remove containers',
    ],
    [
      'images to one with spaces',
      {},
      { 'spec.containers[0].image': ' a' },
      'spec.containers[0].image: Invalid value: " a": must not have leading or trailing whitespace',
      'spec.containers[0].image: Invalid value: " a": must not have leading or trailing whitespace',
    ],
    [
      'a deadline to none',
      deadline(10),
      {},
      `${deadlineRange}null: must not update from a positive integer to nil value`,
    ],
    [
      'a deadline to a later one',
      deadline(10),
      deadline(11),
      `${deadlineRange}11: must be less than or equal to previous value`,
    ],
    ['tolerations, by one less', tolerations(toleration), {}, keepTolerations],
    ...(['key', 'value', 'effect'] as const).map(
      (part): Row => [
        `the ${part} of a toleration`,
        tolerations(toleration),
        tolerations({
          ...toleration,
          [part]: part === 'effect' ? 'NoSchedule' : 'x',
          ...(part === 'effect' && { tolerationSeconds: undefined }),
        }),
        keepTolerations,
      ],
    ),
    [
      'the operator of a toleration',
      tolerations({ ...toleration, value: '' }),
      tolerations({ ...toleration, value: '', operator: 'Exists' }),
      keepTolerations,
    ],
    [
      'scheduling gates, by new ones',
      gates('g.io/a'),
      gates('g.io/a', 'g.io/b'),
      "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate 'g.io/b'",
    ],
    [
      'the node selector of a gated pod, by less',
      { ...gates('g.io/a'), 'spec.nodeSelector': { a: 'b' } },
      { ...gates('g.io/a'), 'spec.nodeSelector': { a: 'c' } },
      'spec.nodeSelector: Invalid value: {"a":"c"}: only additions to spec.nodeSelector are allowed',
    ],
    ['the number of terms of a gated pod', nodeTerms(one), nodeTerms(one, one), `${termsField}: Invalid value: `],
    ['the terms of a gated pod to none', nodeTerms(one), gates('g.io/a'), `${termsField}: Invalid value: [`],
    [
      'a term of a gated pod, by other requirements',
      nodeTerms(one),
      nodeTerms({ matchExpressions: [requirement('b')] }),
      `${termsField}[0]: Invalid value: `,
    ],
    [
      'a term of a gated pod, by requirements before its own',
      nodeTerms(one),
      nodeTerms({ matchExpressions: [requirement('b'), requirement('a')] }),
      `${termsField}[0]: Invalid value: `,
    ],
    ['a term of a gated pod that selects nothing', nodeTerms({}), nodeTerms(one), `${termsField}[0]: Invalid value: `],
    [
      'the mark of a mirror pod',
      mirror,
      { 'spec.nodeName': 'n' },
      'metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not remove or update mirror pod annotation',
    ],
    [
      'a pod to a mirror pod',
      { 'spec.nodeName': 'n' },
      mirror,
      'metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not add mirror pod annotation',
    ],
    [
      'annotations of AppArmor',
      {},
      { 'metadata.annotations': { 'container.apparmor.security.beta.kubernetes.io/main': 'unconfined' } },
      'metadata.annotations[container.apparmor.security.beta.kubernetes.io/main]: Forbidden: may not add AppArmor annotations',
    ],
  ]);

  it('a deadline to one out of range', () => {
    for (const seconds of [-1, 2147483648]) {
      const found = validatePodUpdate(buildPod(deadline(seconds)), buildPod(), permissivePolicy);
      assert.ok(found.some(({ field, message }) => `${field}: ${message}`.startsWith(`${deadlineRange}${seconds}`)));
      assert.ok(!found.some(({ field }) => field === 'spec'), 'nothing else is compared');
    }
  });
});

describe('ephemeral containers', () => {
  const debug = (...names: string[]): Changes => ({
    'spec.ephemeralContainers': names.map((name) => ({ name, image: 'x' })),
  });
  testRows(validateEphemeralContainersUpdate, [
    ['may be added', debug('a'), debug('a', 'b')],
    ['may stand in another order', debug('a', 'b'), debug('b', 'a')],
    [
      'may not be removed',
      debug('a'),
      {},
      'spec.ephemeralContainers: Forbidden: existing ephemeral containers "a" may not be removed\n',
    ],
    [
      'may not be changed',
      debug('a'),
      { 'spec.ephemeralContainers': [{ name: 'a', image: 'y' }] },
      'spec.ephemeralContainers: Forbidden: existing ephemeral containers "a" may not be changed\n',
    ],
    [
      'are not for static pods',
      mirror,
      { ...mirror, ...debug('a') },
      '[]: Forbidden: static pods do not support ephemeral containers',
    ],
  ]);
});

describe('a resize', () => {
  const cpu = (amount: string): Changes => ({ 'spec.containers[0].resources': { requests: { cpu: amount } } });
  const side = (amount: string, more: object = {}): Changes => ({
    ...cpu('1'),
    'spec.initContainers': [
      { name: 'i', image: 'x', restartPolicy: 'Always', resources: { requests: { cpu: amount } }, ...more },
    ],
  });
  const status = (state: object, resources: object | undefined): Changes => ({
    ...cpu('1'),
    'status.containerStatuses': [
      { name: 'main', image: 'x', imageID: '', ready: true, restartCount: 0, state, resources },
    ],
  });
  testRows(validateResizeUpdate, [
    ['may change CPUs', cpu('1'), cpu('2')],
    ['may change those of sidecars', side('1'), side('2')],
    [
      'may change the policy for it',
      cpu('1'),
      { ...cpu('2'), 'spec.containers[0].resizePolicy': [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] },
    ],
    [
      'may not change anything else',
      cpu('1'),
      { ...cpu('2'), 'spec.containers[0].image': 'y' },
      'spec: Forbidden: only cpu and memory resources are mutable',
    ],
    [
      'may not change anything else of sidecars',
      side('1'),
      side('2', { command: ['x'] }),
      'spec: Forbidden: only cpu and memory resources are mutable',
    ],
    [
      'may not add containers',
      cpu('1'),
      side('1'),
      'spec.initContainers: Forbidden: initContainers may not be added or removed on resize',
    ],
    [
      'may not rename containers',
      cpu('1'),
      { ...cpu('2'), 'spec.containers[0].name': 'y' },
      'spec.containers[0].name: Forbidden: containers may not be renamed or reordered on resize',
    ],
    [
      'is not for static pods',
      { ...mirror, ...cpu('1') },
      { ...mirror, ...cpu('2') },
      '[]: Forbidden: static pods cannot be resized',
    ],
    [
      'is not for Windows',
      { ...cpu('1'), 'spec.os': { name: 'windows' } },
      { ...cpu('2'), 'spec.os': { name: 'windows' } },
      '[]: Forbidden: windows pods cannot be resized',
    ],
    [
      'is not for nodes that do not report resources',
      status({ running: {} }, undefined),
      cpu('2'),
      'spec: Forbidden: Pod running on node without support for resize',
    ],
    ['is for nodes that report resources', status({ running: {} }, { requests: { cpu: '1' } }), cpu('2')],
    ['is for containers that do not run yet', status({ waiting: {} }, undefined), cpu('2')],
  ]);
});
