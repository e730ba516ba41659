import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Service } from '../../../api/core/service.ts';
import type { SchedulerConfig } from '../config/scheduler-config.ts';
import type { Profile } from '../framework/profile.ts';
import { bound, buildNode, buildPod, decide, outcomeOf } from '../testing/builders.ts';
import { readPolicy } from './read-policy.ts';

const head = { kind: 'Policy', apiVersion: 'v1' };
function configOf(policy: object): SchedulerConfig {
  const read = readPolicy({ ...head, ...policy });
  if ('errors' in read) throw new Error(read.errors.join('\n'));
  return read.config;
}
const profileOf = (policy: object): Profile => configOf(policy).profiles.get('default-scheduler') as Profile;
const errorsOf = (policy: object): readonly string[] => {
  const read = readPolicy({ ...head, ...policy });
  return 'errors' in read ? read.errors : [];
};
const filters = (policy: object): readonly string[] => profileOf(policy).filters.map(({ name }) => name);
const scores = (policy: object): readonly string[] =>
  profileOf(policy).scores.map(({ plugin, weight }) => `${plugin.name} ${weight}`);
const always = ['NodeUnschedulable', 'TaintToleration', 'DynamicResources', 'NodeDeclaredFeatures'];
const web: Service = {
  metadata: { name: 'web', namespace: 'default', uid: 'web' },
  spec: { selector: { app: 'web' } },
} as Service;

describe('a Policy', () => {
  it('without predicates and priorities gets the defaults; empty lists leave only mandatory plugins', () => {
    assert.ok(filters({}).includes('InterPodAffinity'));
    assert.ok(scores({}).includes('TaintToleration 3'));
    assert.deepEqual([filters({ predicates: [] }), scores({ priorities: [] })], [always, []]);
  });

  it('maps names to plugins and keeps its weights', () => {
    const predicates = ['GeneralPredicates', 'NoDiskConflict', 'PodToleratesNodeTaints'].map((name) => ({ name }));
    assert.deepEqual(filters({ predicates }), [
      ...['NodeUnschedulable', 'NodeName', 'TaintToleration', 'NodeAffinity', 'NodePorts', 'NodeResourcesFit'],
      ...['VolumeRestrictions', 'DynamicResources', 'NodeDeclaredFeatures'],
    ]);
    const priorities = [
      { name: 'LeastRequestedPriority', weight: 1 },
      { name: 'MostRequestedPriority', weight: 2 },
      { name: 'SelectorSpreadPriority', weight: 3 },
      { name: 'EvenPodsSpreadPriority', weight: 4 },
      { name: 'EqualPriority', weight: 1 },
      { name: 'ImageLocalityPriority', weight: 5 },
    ];
    assert.deepEqual(scores({ priorities }), [
      'NodeResourcesLeastAllocated 1',
      'NodeResourcesMostAllocated 2',
      'PodTopologySpread 7',
      'ImageLocality 5',
    ]);
  });

  it('does not run plugins that it does not name', () => {
    const big = buildPod('big', { requests: { cpu: '100' } });
    assert.equal(
      outcomeOf(decide({ nodes: [buildNode('a')] }, big, profileOf({ predicates: [{ name: 'HostName' }] }))),
      'a',
    );
    assert.match(outcomeOf(decide({ nodes: [buildNode('a')] }, big, profileOf({}))), /Insufficient cpu/);
  });

  it('packs nodes with MostRequestedPriority and a custom ratio', () => {
    const nodes = [
      buildNode('small', { allocatable: { cpu: '2' } }),
      buildNode('large', { allocatable: { cpu: '8' } }),
    ];
    const pod = buildPod('x', { requests: { cpu: '1' } });
    const shape = [
      { utilization: 0, score: 0 },
      { utilization: 100, score: 10 },
    ];
    const ratio = { requestedToCapacityRatioArguments: { shape, resources: [{ name: 'cpu', weight: 1 }] } };
    for (const priorities of [
      [{ name: 'MostRequestedPriority', weight: 1 }],
      [{ name: 'Pack', weight: 1, argument: ratio }],
    ])
      assert.equal(outcomeOf(decide({ nodes }, pod, profileOf({ priorities }))), 'small');
    const spreading = profileOf({ priorities: [{ name: 'LeastRequestedPriority', weight: 1 }] });
    assert.equal(outcomeOf(decide({ nodes }, pod, spreading)), 'large');
  });

  it('may filter and score by labels', () => {
    const nodes = [
      buildNode('a', { labels: { retiring: '1' } }),
      buildNode('b'),
      buildNode('c', { labels: { ssd: '' } }),
    ];
    const labelsPresence = { labels: ['retiring'], presence: false };
    const profile = profileOf({
      predicates: [{ name: 'NotRetiring', argument: { labelsPresence } }],
      priorities: [{ name: 'Ssd', weight: 1, argument: { labelPreference: { label: 'ssd', presence: true } } }],
    });
    assert.equal(outcomeOf(decide({ nodes }, buildPod('x'), profile)), 'c');
    assert.match(
      outcomeOf(decide({ nodes: nodes.slice(0, 1) }, buildPod('x'), profile)),
      /1 node\(s\) didn't have the requested labels/,
    );
  });

  it('keeps the pods of a Service together by one label, and spreads them by another', () => {
    const node = (name: string, region: string, rack: string): ReturnType<typeof buildNode> =>
      buildNode(name, { labels: { region, rack } });
    const nodes = [node('a', 'east', '1'), node('b', 'east', '2'), node('c', 'west', '3')];
    const pods = [bound(buildPod('first', { labels: { app: 'web' } }), 'a')];
    const profile = profileOf({
      predicates: [{ name: 'Region', argument: { serviceAffinity: { labels: ['region'] } } }],
      priorities: [{ name: 'Racks', weight: 2, argument: { serviceAntiAffinity: { label: 'rack' } } }],
    });
    const pod = buildPod('second', { labels: { app: 'web' } });
    assert.equal(outcomeOf(decide({ nodes, pods, services: [web] }, pod, profile)), 'b');
    assert.match(
      outcomeOf(decide({ nodes: nodes.slice(2), pods: [], services: [web] }, pod, profile)),
      /^c$/,
      'the first pod may go anywhere',
    );
    const pinned = buildPod('third', { labels: { app: 'web' }, spec: { nodeSelector: { region: 'west' } } });
    assert.equal(outcomeOf(decide({ nodes, pods, services: [web] }, pinned, profile)), 'c');
  });

  it('avoids nodes whose annotation names the pod’s controller, and ignores invalid JSON', () => {
    const avoiding = (text: string): ReturnType<typeof buildNode> => {
      const made = buildNode('a');
      return {
        ...made,
        metadata: { ...made.metadata, annotations: { 'scheduler.alpha.kubernetes.io/preferAvoidPods': text } },
      };
    };
    const profile = profileOf({ priorities: [{ name: 'NodePreferAvoidPodsPriority', weight: 10_000 }] });
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'rs', uid: 'u1', controller: true };
    const pod = buildPod('x', { metadata: { ownerReferences: [owner] } });
    const signature = { podSignature: { podController: { kind: 'ReplicaSet', uid: 'u1' } } };
    for (let seed = 0; seed < 8; seed++)
      assert.equal(
        outcomeOf(
          decide(
            { nodes: [avoiding(JSON.stringify({ preferAvoidPods: [signature] })), buildNode('b')] },
            pod,
            profile,
            seed,
          ),
        ),
        'b',
      );
    for (const text of ['{', 'null', '{"preferAvoidPods":[null,1]}'])
      assert.equal(outcomeOf(decide({ nodes: [avoiding(text)] }, pod, profile)), 'a');
  });

  it('may configure extenders in its own format', () => {
    const [extender] = configOf({
      extenders: [
        {
          ...{ urlPrefix: 'https://127.0.0.1:1/x/', filterVerb: 'f', enableHttps: true, httpTimeout: 2_500_000_000 },
          ...{ managedResources: [{ name: 'example.com/a', ignoredByScheduler: true }] },
        },
      ],
    }).extenders;
    assert.deepEqual(
      [extender?.urlPrefix, extender?.timeoutMs, extender?.tls.insecure, extender?.ignoredResources],
      ['https://127.0.0.1:1/x', 2500, true, ['example.com/a']],
    );
  });

  for (const [name, policy, error] of [
    [
      'another kind',
      { kind: 'KubeSchedulerConfiguration' },
      /^no kind "KubeSchedulerConfiguration".*; expected Policy of v1$/,
    ],
    [
      'an unknown predicate',
      { predicates: [{ name: 'Fits' }] },
      /^predicates\[0\].name: Not found: "Fits": there is no such predicate; there are PodFitsResources, /,
    ],
    [
      'an unknown priority',
      { priorities: [{ name: 'Best', weight: 1 }] },
      /^priorities\[0\].name: Not found: "Best": there is no such priority; there are LeastRequestedPriority, /,
    ],
    [
      'a priority without a weight',
      { priorities: [{ name: 'ImageLocalityPriority' }] },
      /^priorities\[0\].weight: Invalid value: 0: /,
    ],
    [
      'two arguments',
      { predicates: [{ name: 'x', argument: { serviceAffinity: {}, labelsPresence: {} } }] },
      /exactly one predicate argument is required/,
    ],
    [
      'a ratio without a shape',
      { priorities: [{ name: 'RequestedToCapacityRatioPriority', weight: 1 }] },
      /Required value: requestedToCapacityRatioArguments/,
    ],
    ['a weight of affinity that is too large', { hardPodAffinitySymmetricWeight: 101 }, /not in valid range \[0-100\]/],
    ['fields that it has not', { predicate: [] }, /unknown field "predicate"/],
    [
      'a time that is none',
      { extenders: [{ urlPrefix: 'http://a', httpTimeout: {} }] },
      /must be a number of nanoseconds/,
    ],
  ] as const) {
    it(`rejects a Policy with ${name}`, () => assert.match(errorsOf(policy).join('\n'), error));
  }
});
