import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Changes } from '../../testing/pod-builder.ts';
import { buildPod } from '../../testing/pod-builder.ts';
import { permissivePolicy } from '../cluster-policy.ts';
import { validatePod } from './validate-pod.ts';

const required = 'requiredDuringSchedulingIgnoredDuringExecution';
const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';
const exists = { key: 'a', operator: 'Exists' };

/** The paths of the errors, without their common prefix. */
function refused(changes: Changes, shared: string): string[] {
  return validatePod(buildPod(changes), permissivePolicy).map(({ field }) => field.replace(shared, ''));
}

describe('node affinity', () => {
  const at = `spec.affinity.nodeAffinity.${required}.nodeSelectorTerms[0]`;
  const ofTerm = (term: object): string[] =>
    refused({ 'spec.affinity.nodeAffinity': { [required]: { nodeSelectorTerms: [term] } } }, at);
  const ofLabel = (operator: string, ...values: string[]): string[] =>
    ofTerm({ matchExpressions: [exists, { key: 'a', operator, values }] });
  const ofField = (operator: string, key: string, ...values: string[]): string[] =>
    ofTerm({ matchFields: [{ key, operator, values }] });

  for (const [operator, accepted, wrong] of [
    ['In', [['b'], ['b', 'c']], [[]]],
    ['NotIn', [['b'], ['b', 'c']], [[]]],
    ['Exists', [[]], [['b']]],
    ['DoesNotExist', [[]], [['b']]],
    ['Gt', [['1']], [[], ['1', '2']]],
    ['Lt', [['1']], [[], ['1', '2']]],
  ] as const)
    it(`takes as many values as ${operator} needs`, () => {
      for (const values of accepted) assert.deepEqual(ofLabel(operator, ...values), []);
      for (const values of wrong) assert.deepEqual(ofLabel(operator, ...values), ['.matchExpressions[1].values']);
    });

  it('takes only operators, keys and values that labels can have', () => {
    assert.deepEqual(ofLabel('Like', 'b'), ['.matchExpressions[1].operator']);
    assert.deepEqual(ofLabel('In', 'b', '-c'), ['.matchExpressions[1].values[1]']);
    assert.deepEqual(ofTerm({ matchExpressions: [{ key: '-', operator: 'Exists' }] }), ['.matchExpressions[0].key']);
  });

  it('takes the name of a node as its only field, one at a time', () => {
    assert.deepEqual(ofField('In', 'metadata.name', 'n1'), []);
    assert.deepEqual(ofField('NotIn', 'metadata.name', 'n1'), []);
    assert.deepEqual(ofField('Exists', 'metadata.name', 'n1'), ['.matchFields[0].operator']);
    assert.deepEqual(ofField('In', 'metadata.name', 'n1', 'n2'), ['.matchFields[0].values']);
    assert.deepEqual(ofField('In', 'metadata.name'), ['.matchFields[0].values']);
    assert.deepEqual(ofField('In', 'metadata.uid', 'n1'), ['.matchFields[0].key']);
    assert.deepEqual(ofField('In', 'metadata.name', 'N_1'), ['.matchFields[0].values[0]']);
  });

  it('needs a term where it is required', () => {
    const none = { 'spec.affinity.nodeAffinity': { [required]: { nodeSelectorTerms: [] } } };
    assert.deepEqual(refused(none, 'spec.affinity.nodeAffinity.'), [`${required}.nodeSelectorTerms`]);
  });
});

describe('weights', () => {
  for (const [weight, isRight] of [
    [-1, false],
    [0, false],
    [1, true],
    [100, true],
    [101, false],
  ] as const)
    it(`of ${weight} are ${isRight ? 'accepted' : 'refused'}`, () => {
      const node = { [preferred]: [{ weight, preference: { matchExpressions: [exists] } }] };
      const pods = { [preferred]: [{ weight, podAffinityTerm: { topologyKey: 'z', labelSelector: {} } }] };
      for (const [kind, affinity] of [
        ['nodeAffinity', node],
        ['podAffinity', pods],
        ['podAntiAffinity', pods],
      ] as const)
        assert.deepEqual(
          refused({ [`spec.affinity.${kind}`]: affinity }, `spec.affinity.${kind}.${preferred}[0].`),
          isRight ? [] : ['weight'],
        );
    });
});

describe('affinity to pods', () => {
  for (const kind of ['podAffinity', 'podAntiAffinity'])
    for (const list of [required, preferred]) {
      const at = `spec.affinity.${kind}.${list}[0]${list === preferred ? '.podAffinityTerm' : ''}`;
      const ofTerm = (more: object): string[] => {
        const term = { topologyKey: 'z', labelSelector: { matchLabels: { own: 'x' } }, ...more };
        const entry = list === preferred ? { weight: 1, podAffinityTerm: term } : term;
        return refused({ [`spec.affinity.${kind}`]: { [list]: [entry] } }, at);
      };
      it(`is checked in each part: ${kind}, ${list}`, () => {
        assert.deepEqual(ofTerm({}), []);
        assert.deepEqual(ofTerm({ topologyKey: '' }).slice(0, 1), ['.topologyKey']);
        assert.deepEqual(ofTerm({ topologyKey: '-' }), ['.topologyKey']);
        assert.deepEqual(ofTerm({ namespaces: ['ok', 'Not'] }), ['.namespace']);
        const wrong = { matchExpressions: [{ key: 'a', operator: 'In', values: [] }] };
        assert.deepEqual(ofTerm({ labelSelector: wrong }), ['.labelSelector.matchExpressions[0].values']);
        assert.deepEqual(ofTerm({ namespaceSelector: wrong }), ['.namespaceSelector.matchExpressions[0].values']);
      });
    }

  it('takes keys of labels once, and only beside a selector', () => {
    const at = `spec.affinity.podAffinity.${required}[0]`;
    const ofTerm = (more: object): string[] =>
      refused({ 'spec.affinity.podAffinity': { [required]: [{ topologyKey: 'z', ...more }] } }, at);
    const labelSelector = { matchLabels: { own: 'x' } };
    assert.deepEqual(ofTerm({ matchLabelKeys: ['a'] }), ['.matchLabelKeys']);
    assert.deepEqual(ofTerm({ mismatchLabelKeys: ['a'] }), ['.mismatchLabelKeys']);
    assert.deepEqual(ofTerm({ labelSelector, matchLabelKeys: ['a'], mismatchLabelKeys: ['b'] }), []);
    assert.deepEqual(ofTerm({ labelSelector, matchLabelKeys: ['b', '-'] }), ['.matchLabelKeys[1]']);
    assert.deepEqual(ofTerm({ labelSelector, mismatchLabelKeys: ['-'] }), ['.mismatchLabelKeys[0]']);
    assert.deepEqual(ofTerm({ labelSelector, matchLabelKeys: ['c', 'a'], mismatchLabelKeys: ['a'] }), [
      '.matchLabelKeys[1]',
    ]);
    // What the API server itself adds for a key is in the expressions once.
    const merged = { ...labelSelector, matchExpressions: [{ key: 'a', operator: 'In', values: ['x'] }] };
    assert.deepEqual(ofTerm({ labelSelector: merged, matchLabelKeys: ['a'] }), []);
    const twice = { matchExpressions: [...merged.matchExpressions, ...merged.matchExpressions] };
    assert.deepEqual(ofTerm({ labelSelector: twice, matchLabelKeys: ['a'] }), ['[0]']);
    assert.deepEqual(ofTerm({ labelSelector: twice }), []);
  });
});

describe('spread constraints', () => {
  const at = 'spec.topologySpreadConstraints[0]';
  const ofConstraint = (more: object): string[] =>
    refused(
      {
        'spec.topologySpreadConstraints': [
          { maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'DoNotSchedule', labelSelector: {}, ...more },
        ],
      },
      at,
    );
  it('are checked in each part', () => {
    assert.deepEqual(ofConstraint({}), []);
    assert.deepEqual(ofConstraint({ maxSkew: 0 }), ['.maxSkew']);
    assert.deepEqual(ofConstraint({ minDomains: 1, nodeAffinityPolicy: 'Honor', nodeTaintsPolicy: 'Ignore' }), []);
    assert.deepEqual(ofConstraint({ minDomains: 0 }), ['.minDomains']);
    assert.deepEqual(ofConstraint({ nodeAffinityPolicy: 'x' }), ['.nodeAffinityPolicy']);
    assert.deepEqual(ofConstraint({ nodeTaintsPolicy: 'x' }), ['.nodeTaintsPolicy']);
    assert.deepEqual(ofConstraint({ matchLabelKeys: ['-'] }), ['.matchLabelKeys[0]']);
    const wrong = { matchExpressions: [{ key: 'a', operator: 'In', values: [] }] };
    assert.deepEqual(ofConstraint({ labelSelector: wrong }), ['.labelSelector.matchExpressions[0].values']);
  });

  it('may share a key when they differ in what they do', () => {
    const one = { maxSkew: 1, topologyKey: 'z', labelSelector: {} };
    const both = [
      { ...one, whenUnsatisfiable: 'DoNotSchedule' },
      { ...one, whenUnsatisfiable: 'ScheduleAnyway' },
    ];
    assert.deepEqual(refused({ 'spec.topologySpreadConstraints': both }, ''), []);
  });
});

describe('tolerations', () => {
  const ofToleration = (toleration: object): string[] =>
    refused({ 'spec.tolerations': [toleration] }, 'spec.tolerations[0]');
  it('are checked in each part', () => {
    assert.deepEqual(ofToleration({ operator: 'Exists' }), []);
    assert.deepEqual(ofToleration({ key: 'a', value: 'b' }), []);
    assert.deepEqual(ofToleration({ key: 'a', operator: 'Equal', value: '-' }), ['.operator']);
    assert.deepEqual(ofToleration({ key: '-', operator: 'Exists' }), ['.key']);
    assert.deepEqual(ofToleration({ key: 'a', effect: 'NoExecute', tolerationSeconds: 0 }), []);
    assert.deepEqual(ofToleration({ key: 'a', tolerationSeconds: 0 }), ['.effect']);
    assert.deepEqual(ofToleration({ key: 'a', operator: 'Gt', value: '1' }), ['.operator'], 'behind an alpha gate');
  });
});
