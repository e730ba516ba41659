import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Changes } from '../../testing/pod-builder.ts';
import { buildPod } from '../../testing/pod-builder.ts';
import { permissivePolicy } from '../cluster-policy.ts';
import { createPodContext, createTemplateContext } from './old-faults.ts';
import type { OldFault } from './pod-validation-context.ts';
import { validatePodUpdate } from './validate-pod-update.ts';
import { validatePod } from './validate-pod.ts';

const term = (labelSelector: object, namespaceSelector?: object): object => ({
  topologyKey: 'z',
  labelSelector,
  ...(namespaceSelector && { namespaceSelector }),
});
const badSelector = { matchExpressions: [{ key: 'a', operator: 'In', values: ['-b-'] }] };
const goodSelector = { matchLabels: { a: 'b' } };
const required = 'requiredDuringSchedulingIgnoredDuringExecution';
const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';
const pages = (resources: object): Changes => ({ 'spec.containers[0].resources': resources });
const odd = { cpu: '1', 'hugepages-2Mi': '3Mi' };
const nodeValues = (...values: string[][]): Changes => ({
  'spec.affinity.nodeAffinity': {
    [required]: {
      nodeSelectorTerms: values.map((each) => ({ matchExpressions: [{ key: 'a', operator: 'In', values: each }] })),
    },
  },
});

/** Faults that pods of earlier versions may keep, and new pods must not have. */
const faults: readonly [what: string, changes: Changes][] = [
  [
    'a deletion cost that is not a number',
    { 'metadata.annotations': { 'controller.kubernetes.io/pod-deletion-cost': '+1' } },
  ],
  ['huge pages that are no whole pages, as limits', pages({ limits: odd, requests: odd })],
  [
    'an invalid label value in a required term',
    { 'spec.affinity.podAffinity': { [required]: [term(goodSelector), term(badSelector)] } },
  ],
  [
    'an invalid label value in a preferred term',
    { 'spec.affinity.podAntiAffinity': { [preferred]: [{ weight: 1, podAffinityTerm: term(badSelector) }] } },
  ],
  [
    'an invalid label value in a selector of namespaces',
    { 'spec.affinity.podAntiAffinity': { [required]: [term(goodSelector, badSelector)] } },
  ],
  ['an invalid label value of nodes', nodeValues(['good'], ['good', '-b-'])],
  [
    'an invalid selector of a spread constraint',
    {
      'spec.topologySpreadConstraints': [
        { maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: goodSelector },
        { maxSkew: 1, topologyKey: 'y', whenUnsatisfiable: 'ScheduleAnyway', labelSelector: badSelector },
      ],
    },
  ],
  [
    'a path of a token outside its volume',
    {
      'spec.serviceAccountName': 'robot',
      'spec.volumes': [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: '../up' } }] } }],
    },
  ],
  [
    'a sysctl of the host',
    { 'spec.hostNetwork': true, 'spec.securityContext': { sysctls: [{ name: 'net.ipv4.ip_forward', value: '1' }] } },
  ],
  [
    'tolerations that compare',
    {
      'spec.tolerations': [
        { key: 'a', operator: 'Exists' },
        { key: 'a', operator: 'Gt', value: '1' },
      ],
    },
  ],
];

describe('a fault that the pod had before', () => {
  for (const [what, changes] of faults)
    it(`does not stop other changes, and no new pod may have it: ${what}`, () => {
      const old = buildPod(changes);
      const labelled = { ...old, metadata: { ...old.metadata, labels: { a: 'b' } } };
      assert.deepEqual(validatePodUpdate(labelled, old, permissivePolicy), []);
      assert.notDeepEqual(validatePod(old, permissivePolicy), []);
    });

  it('allows no other fault', () => {
    const old = buildPod(nodeValues(['-b-']));
    const next = buildPod({ ...nodeValues(['-b-']), 'metadata.labels': { a: '-b-' } });
    assert.deepEqual(
      validatePodUpdate(next, old, permissivePolicy).map(({ field }) => field),
      ['metadata.labels'],
    );
  });
});

describe('faults of the old object', () => {
  const container = { name: 'c', image: 'x' };
  const rows: readonly [fault: OldFault, changes: Changes][] = [
    ['comparingToleration', { 'spec.tolerations': [{ key: 'a', operator: 'Lt', value: '1' }] }],
    ['deletionCost', { 'metadata.annotations': { 'controller.kubernetes.io/pod-deletion-cost': 'x' } }],
    ['indivisibleHugePages', { 'spec.overhead': { 'hugepages-2Mi': '3Mi' } }],
    [
      'indivisibleHugePages',
      {
        'spec.initContainers': [container],
        [`spec.containers[0].resources`]: { requests: { 'hugepages-2Mi': '3Mi' } },
      },
    ],
    ['labelValueInSelector', { 'spec.affinity.podAffinity': { [required]: [term(badSelector)] } }],
    ['nodeAffinityValue', nodeValues(['-b-'])],
    [
      'restartingInitContainer',
      {
        'spec.initContainers': [
          { ...container, resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] },
        ],
      },
    ],
    ['seLinuxChangePolicy', { 'spec.securityContext': { seLinuxChangePolicy: 'Recursive' } }],
    ['userNamespaceOnHostNetwork', { 'spec.hostUsers': false, 'spec.hostNetwork': true }],
  ];
  const all = [...new Set([...rows.map(([fault]) => fault), 'hostSysctl', 'spreadSelector', 'tokenPath'] as const)];
  for (const [fault, changes] of rows)
    it(`is ${fault}, in a pod and in a template, and nothing else: ${Object.keys(changes).join()}`, () => {
      const old = buildPod(changes);
      const { name: _, ...metadata } = old.metadata;
      for (const context of [
        createPodContext(permissivePolicy, old),
        createTemplateContext(permissivePolicy, { template: { metadata, spec: old.spec } }),
      ])
        assert.deepEqual(all.filter(context.hadBefore), [fault]);
    });

  it('are absent from a new object, and from an old one without faults', () => {
    const clean = buildPod({ 'spec.hostNetwork': true });
    const own = buildPod({ 'spec.hostUsers': false });
    for (const context of [
      createPodContext(permissivePolicy),
      createTemplateContext(permissivePolicy),
      ...[clean, own].map((old) => createPodContext(permissivePolicy, old)),
      createTemplateContext(permissivePolicy, { template: { metadata: {}, spec: clean.spec } }),
    ])
      assert.deepEqual(all.filter(context.hadBefore), []);
  });

  it('is the selector of the owner beside its template, for values of labels alone', () => {
    const template = { metadata: {}, spec: buildPod().spec };
    const selector = { matchExpressions: [{ key: 'a', operator: 'In' as const, values: ['-b-'] }] };
    assert.deepEqual(all.filter(createTemplateContext(permissivePolicy, { template, selector }).hadBefore), [
      'labelValueInSelector',
    ]);
    const { subject } = createTemplateContext(permissivePolicy, { template });
    assert.deepEqual([subject, createTemplateContext(permissivePolicy).subject], ['template', 'template']);
  });
});

describe('the value of a toleration that compares', () => {
  const old = buildPod({ 'spec.tolerations': [{ key: 'a', operator: 'Lt', value: '1' }] });
  const complaint = (value: string): string | undefined => {
    const tolerations = [...(old.spec.tolerations ?? []), { key: 'b', operator: 'Gt' as never, value }];
    const found = validatePodUpdate({ ...old, spec: { ...old.spec, tolerations } }, old, permissivePolicy);
    return found.map(({ field, message }) => `${field}: ${message}`).join();
  };
  for (const value of ['0', '1', '-1', '10', '9223372036854775807', '-9223372036854775808'])
    it(`may be ${value}`, () => assert.equal(complaint(value), ''));
  for (const value of ['', 'x', '01', '-0', '+1', '1.0', ' 1', '1x'])
    it(`may not be "${value}": it is no integer`, () =>
      assert.match(
        complaint(value) ?? '',
        /^spec\.tolerations\[1\]\.value: .*must be a valid decimal integer in canonical form$/,
      ));
  for (const value of ['9223372036854775808', '-9223372036854775809', '1'.repeat(10_000)])
    it(`may not be ${value.slice(0, 20)} of ${value.length} digits: it is too large`, () =>
      assert.match(complaint(value) ?? '', /value out of range$/));
});
