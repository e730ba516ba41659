import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { decide, buildNode, buildPod, outcomeOf } from '../testing/builders.ts';
import type { Profile } from '../framework/profile.ts';
import { defaultSchedulerConfig, readSchedulerConfig } from './scheduler-config.ts';

const head = { apiVersion: 'kubescheduler.config.k8s.io/v1', kind: 'KubeSchedulerConfiguration' };

function profileOf(profile: object, more: object = {}): Profile {
  const read = readSchedulerConfig({ ...head, profiles: [profile], ...more });
  assert.ok('config' in read, JSON.stringify(read));
  const [first] = read.config.profiles.values();
  assert.ok(first !== undefined);
  return first;
}

function errorsOf(config: object): readonly string[] {
  const read = readSchedulerConfig({ ...head, ...config });
  return 'errors' in read ? read.errors : [];
}

const errorsOfProfile = (profile: object): readonly string[] => errorsOf({ profiles: [profile] });
const weights = ({ scores }: Profile): readonly string[] =>
  scores.map(({ plugin, weight }) => `${plugin.name} ${weight}`);

describe('the configuration of the scheduler', () => {
  it('equals upstream’s default without a configuration', () => {
    const { profiles, initialBackoffMs, maxBackoffMs } = defaultSchedulerConfig();
    const profile = profiles.get('default-scheduler');
    assert.ok(profile !== undefined);
    assert.deepEqual(
      [profiles.size, initialBackoffMs, maxBackoffMs, profile.percentageOfNodesToScore],
      [1, 1000, 10_000, 0],
    );
    assert.deepEqual(weights(profile), [
      'TaintToleration 3',
      'NodeAffinity 2',
      'NodeResourcesFit 1',
      'PodTopologySpread 2',
      'InterPodAffinity 2',
      'NodeResourcesBalancedAllocation 1',
      'ImageLocality 1',
    ]);
    assert.deepEqual(
      profile.filters.map(({ name }) => name),
      [
        'NodeUnschedulable',
        'NodeName',
        'TaintToleration',
        'NodeAffinity',
        'NodePorts',
        'NodeResourcesFit',
        'VolumeRestrictions',
        'NodeVolumeLimits',
        'VolumeBinding',
        'VolumeZone',
        'PodTopologySpread',
        'InterPodAffinity',
        'DynamicResources',
        'NodeDeclaredFeatures',
      ],
    );
    assert.deepEqual(profile.postFilters, [
      { kind: 'dynamicResources' },
      { kind: 'preemption', args: { minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 100 } },
    ]);
  });

  it('changes weights, and disables plugins at one extension point or at all of them', () => {
    assert.deepEqual(
      weights(
        profileOf({
          plugins: { score: { disabled: [{ name: '*' }], enabled: [{ name: 'ImageLocality', weight: 7 }] } },
        }),
      ),
      ['ImageLocality 7'],
    );
    assert.ok(
      weights(profileOf({ plugins: { multiPoint: { enabled: [{ name: 'TaintToleration', weight: 9 }] } } })).includes(
        'TaintToleration 9',
      ),
    );
    assert.equal(
      weights(profileOf({ plugins: { score: { enabled: [{ name: 'ImageLocality', weight: 5 }] } } }))[0],
      'ImageLocality 5',
    );
    const without = profileOf({ plugins: { multiPoint: { disabled: [{ name: 'TaintToleration' }] } } });
    assert.ok(!without.plugins.has('TaintToleration'));
    const noPreemption = profileOf({ plugins: { postFilter: { disabled: [{ name: '*' }] } } });
    assert.equal(
      outcomeOf(decide({ nodes: [buildNode('a')] }, buildPod('x', { requests: { cpu: '5' } }), noPreemption)),
      '0/1 nodes are available: 1 Insufficient cpu.',
    );
  });

  it('passes the arguments to the plugins', () => {
    const args = { scoringStrategy: { type: 'MostAllocated', resources: [{ name: 'cpu', weight: 1 }] } };
    const packing = profileOf({
      pluginConfig: [
        { name: 'NodeResourcesFit', args: { apiVersion: head.apiVersion, kind: 'NodeResourcesFitArgs', ...args } },
      ],
      plugins: { score: { disabled: [{ name: 'NodeResourcesBalancedAllocation' }] } },
    });
    const nodes = [
      buildNode('small', { allocatable: { cpu: '2' } }),
      buildNode('large', { allocatable: { cpu: '8' } }),
    ];
    assert.equal(outcomeOf(decide({ nodes }, buildPod('x', { requests: { cpu: '1' } }), packing)), 'small');
    assert.deepEqual(
      profileOf({ pluginConfig: [{ name: 'DefaultPreemption', args: { minCandidateNodesAbsolute: 5 } }] })
        .postFilters[1],
      { kind: 'preemption', args: { minCandidateNodesPercentage: 10, minCandidateNodesAbsolute: 5 } },
    );
    assert.equal(
      profileOf({ percentageOfNodesToScore: 30 }, { percentageOfNodesToScore: 60 }).percentageOfNodesToScore,
      30,
    );
    assert.equal(profileOf({}, { percentageOfNodesToScore: 60 }).percentageOfNodesToScore, 60);
  });

  it('reports each unknown field, plugin or value with its path', () => {
    assert.match(errorsOf({ profile: [] })[0] ?? '', /unknown field "profile"/);
    assert.match(
      errorsOfProfile({ plugins: { filters: {} } })[0] ?? '',
      /unknown field "profiles\[0\].plugins.filters"/,
    );
    assert.match(
      errorsOfProfile({ pluginConfig: [{ name: 'NodeResourcesFit', args: { strategy: 1 } }] })[0] ?? '',
      /^profiles\[0\].pluginConfig\[0\].args: .*unknown field/,
    );
    assert.deepEqual(errorsOfProfile({ plugins: { filter: { enabled: [{ name: 'Mine' }] } } }), [
      'profiles[0].plugins.filter.enabled[0]: Not found: "Mine": no such plugin; one that is not built in needs args.module in pluginConfig',
    ]);
    assert.deepEqual(errorsOfProfile({ plugins: { score: { enabled: [{ name: 'NodePorts' }] } } }), [
      'profiles[0].plugins.score.enabled[0]: Invalid value: "NodePorts": plugin does not extend score',
    ]);
    assert.match(errorsOf({ kind: 'Policy' })[0] ?? '', /no kind "Policy"/);
  });

  for (const [name, config, error] of [
    [
      'a share beyond 100',
      { percentageOfNodesToScore: 101 },
      'percentageOfNodesToScore: Invalid value: 101: not in valid range [0-100]',
    ],
    [
      'no back-off',
      { podInitialBackoffSeconds: 0 },
      'podInitialBackoffSeconds: Invalid value: 0: must be greater than 0',
    ],
    [
      'back-offs that shrink',
      { podInitialBackoffSeconds: 5, podMaxBackoffSeconds: 2 },
      'podMaxBackoffSeconds: Invalid value: 2: must be greater than or equal to PodInitialBackoffSeconds',
    ],
    [
      'an extender that gives points without a weight',
      { extenders: [{ urlPrefix: 'http://a', prioritizeVerb: 'p' }] },
      'extenders[0].weight: Invalid value: 0: must have a positive weight applied to it',
    ],
    [
      'two extenders that bind',
      { extenders: ['http://a', 'http://b'].map((urlPrefix) => ({ urlPrefix, bindVerb: 'b' })) },
      'extenders: Invalid value: "found 2 extenders": only one extender can implement bind',
    ],
    [
      'an extender for a resource that is not extended',
      { extenders: [{ urlPrefix: 'http://a', managedResources: [{ name: 'cpu' }] }] },
      'extenders[0].managedResources[0].name: Invalid value: "cpu": is an invalid extended resource name',
    ],
    [
      'an extender that is no web server',
      { extenders: [{ urlPrefix: 'unix:/run/x' }] },
      'extenders[0].urlPrefix: Invalid value: "unix:/run/x": must be a URL that begins with http:// or https://',
    ],
    [
      'a lease that ends before it is renewed',
      { leaderElection: { leaseDuration: '5s' } },
      'leaderElection.leaseDuration: Invalid value: "5s": LeaseDuration must be greater than RenewDeadline',
    ],
    [
      'two profiles of one name',
      { profiles: [{ schedulerName: 'a' }, { schedulerName: 'a' }] },
      'profiles[1].schedulerName: Duplicate value: "a"',
    ],
    [
      'several profiles without names',
      { profiles: [{}, { schedulerName: 'a' }] },
      'profiles[0].schedulerName: Required value',
    ],
    [
      'an unknown strategy',
      { profiles: [{ pluginConfig: [{ name: 'NodeResourcesFit', args: { scoringStrategy: { type: 'Best' } } }] }] },
      'profiles[0].pluginConfig[0].args.scoringStrategy.type: Unsupported value: "Best": supported values: "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio"',
    ],
    [
      'a ratio without a shape',
      {
        profiles: [
          {
            pluginConfig: [
              { name: 'NodeResourcesFit', args: { scoringStrategy: { type: 'RequestedToCapacityRatio' } } },
            ],
          },
        ],
      },
      'profiles[0].pluginConfig[0].args.scoringStrategy.requestedToCapacityRatio: Required value: must be specified when type is RequestedToCapacityRatio',
    ],
    [
      'arguments of another plugin',
      { profiles: [{ pluginConfig: [{ name: 'InterPodAffinity', args: { kind: 'NodeAffinityArgs' } }] }] },
      'profiles[0].pluginConfig[0].args: Invalid value: args for plugin InterPodAffinity were not of type InterPodAffinityArgs.kubescheduler.config.k8s.io, got NodeAffinityArgs of ',
    ],
    [
      'system defaults with a list',
      {
        profiles: [
          {
            pluginConfig: [
              {
                name: 'PodTopologySpread',
                args: {
                  defaultConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }],
                },
              },
            ],
          },
        ],
      },
      'profiles[0].pluginConfig[0].args.defaultingType: Invalid value: "System": when .defaultConstraints are not empty',
    ],
    [
      'no binder',
      { profiles: [{ plugins: { bind: { disabled: [{ name: '*' }] } } }] },
      'profiles[0].plugins.bind: Required value: at least one bind plugin is needed',
    ],
    [
      'a filter without its preparation',
      { profiles: [{ plugins: { preFilter: { disabled: [{ name: 'NodePorts' }] } } }] },
      'profiles[0].plugins.filter: Invalid value: "NodePorts": needs preFilter of the same plugin, which is disabled',
    ],
  ] as const) {
    it(`refuses ${name}`, () => assert.deepEqual(errorsOf(config), [error]));
  }
});
