import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { KubeletError } from '../../../base/errors.ts';
import { dualSocket, machineOf } from '../../model/testing/machines.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { AllocationProblem, HintProvider, NumaMask, ResourceHints } from '../../model/topology-hints.ts';
import { createTopologyManager } from './create-topology-manager.ts';
import type { TopologyManager } from './topology-manager.ts';

const managers: KubeletConfig['managers'] = {
  cpuPolicy: 'none',
  cpuOptions: {},
  cpuReconcilePeriodMs: 1,
  memoryPolicy: 'None',
  reservedMemory: [],
  topologyPolicy: 'none',
  topologyScope: 'container',
  topologyOptions: {},
  podLevel: false,
};

interface Fixture {
  readonly calls: string[];
  readonly counted: string[];
  readonly manager: TopologyManager;
}

/** Two resources with the given hints for every container. */
function world(
  config: Partial<KubeletConfig['managers']>,
  hints: readonly (ResourceHints | undefined)[],
  problem?: (container: string) => AllocationProblem | undefined,
  { wholePods = false } = {},
): Fixture {
  const calls: string[] = [];
  const counted: string[] = [];
  const provider = (own: ResourceHints | undefined, index: number): HintProvider => ({
    begin: () => ({
      containerHints: () => own,
      podHints: () => own,
      allocate: ({ name }, affinity: NumaMask | undefined) => {
        calls.push(`${index} ${name} ${affinity ?? 'anywhere'}`);
        return problem?.(name);
      },
      ...(index === 0 && wholePods
        ? {
            allocatePod: (affinity: NumaMask | undefined) => {
              calls.push(`${index} whole ${affinity ?? 'anywhere'}`);
              return problem?.('whole');
            },
          }
        : {}),
      commit: () => void calls.push(`${index} commit`),
    }),
  });
  const manager = createTopologyManager({
    config: { managers: { ...managers, ...config } },
    topology: machineOf({ sockets: 2, nodes: 1, cores: 2, threads: 1 }),
    providers: hints.map(provider),
    observer: {
      admitted: ({ failed }) => void counted.push(failed ? 'failed' : 'admitted'),
      aligned: (scope, succeeded) => void counted.push(`${scope} ${succeeded ? 'aligned' : 'not aligned'}`),
    },
    monotonicMs: () => 0,
  });
  return { calls, counted, manager };
}

const pod: Pod = buildPod({
  'spec.initContainers': [{ name: 'init', image: 'x' }],
  'spec.containers': [{ name: 'main', image: 'x' }],
});
const on = (affinity: number): ResourceHints => new Map([['cpu', [{ affinity, preferred: true }]]]);
const refusal = { reason: 'TopologyAffinityError', message: 'Resources cannot be allocated with Topology locality' };

describe('at its admission a pod', () => {
  it('gets resources anywhere with the policy none', () => {
    const { manager, calls, counted } = world({}, [on(1), on(2)]);
    assert.equal(manager.allocate(pod), undefined);
    assert.deepEqual(calls, [
      '0 init anywhere',
      '1 init anywhere',
      '0 main anywhere',
      '1 main anywhere',
      '0 commit',
      '1 commit',
    ]);
    assert.deepEqual(counted, ['admitted']);
  });

  it('gets them container by container on the nodes that suit all', () => {
    const { manager, calls, counted } = world({ topologyPolicy: 'single-numa-node' }, [on(2), undefined]);
    assert.equal(manager.allocate(pod), undefined);
    assert.deepEqual(calls, ['0 init 2', '1 init 2', '0 main 2', '1 main 2', '0 commit', '1 commit']);
    assert.deepEqual(counted, ['admitted', 'container aligned', 'container aligned']);
  });

  it('gets them on the same nodes for all containers in the scope of the pod', () => {
    const { manager, calls, counted } = world({ topologyPolicy: 'single-numa-node', topologyScope: 'pod' }, [on(1)]);
    assert.equal(manager.allocate(pod), undefined);
    assert.deepEqual(calls, ['0 init 1', '0 main 1', '0 commit']);
    assert.deepEqual(counted, ['admitted', 'pod aligned']);
  });

  for (const topologyScope of ['container', 'pod'] as const)
    it(`is rejected when no nodes suit all, in the scope of the ${topologyScope}`, () => {
      const { manager, calls, counted } = world({ topologyPolicy: 'restricted', topologyScope }, [on(1), on(2)]);
      assert.deepEqual(manager.check(pod), refusal);
      assert.deepEqual([calls, counted], [[], ['failed']]);
    });

  it('is admitted all the same by best-effort', () => {
    const { manager } = world({ topologyPolicy: 'best-effort' }, [on(1), on(2)]);
    assert.equal(manager.allocate(pod), undefined);
  });

  it('gets nothing of any resource when one is missing', () => {
    const missing = { reason: 'UnexpectedAdmissionError', message: 'none left' };
    const { manager, calls } = world({}, [undefined, undefined], (name) => (name === 'main' ? missing : undefined));
    assert.deepEqual(manager.allocate(pod), missing);
    assert.deepEqual(calls, ['0 init anywhere', '1 init anywhere', '0 main anywhere']);
  });

  it('gets nothing by being checked', () => {
    const { manager, calls, counted } = world({}, [undefined]);
    assert.equal(manager.check(pod), undefined);
    assert.deepEqual([calls, counted], [['0 init anywhere', '0 main anywhere'], []]);
  });
});

describe('a pod with resources of its own', () => {
  const amounts = { cpu: '2', memory: '1Gi' };
  const whole = buildPod({
    'spec.resources': { requests: amounts, limits: amounts },
    'spec.containers': [{ name: 'main', image: 'x' }],
  });
  const scope = (topologyScope: 'container' | 'pod', podLevel = true) =>
    ({ topologyPolicy: 'restricted', topologyScope, podLevel }) as const;
  const inWhole = { wholePods: true };

  it('gets resources as a whole in the scope of the pod, from managers that can', () => {
    const { manager, calls } = world(scope('pod'), [on(1), on(1)], undefined, inWhole);
    assert.equal(manager.allocate(whole), undefined);
    assert.deepEqual(calls, ['0 whole 1', '1 main 1', '0 commit', '1 commit']);
  });

  it('gets them container by container in the scope of the container, without a policy and without the gate', () => {
    for (const config of [
      scope('container'),
      scope('pod', false),
      { ...scope('pod'), topologyPolicy: 'none' as const },
    ]) {
      const { manager, calls } = world(config, [on(1)], undefined, inWhole);
      assert.equal(manager.allocate(whole), undefined);
      assert.match(calls.join(), /^0 main (1|anywhere),0 commit$/);
    }
  });

  it('is rejected with the texts of upstream, and gets nothing then', () => {
    const message = (topologyScope: 'container' | 'pod', pods: Pod): string | undefined =>
      world(scope(topologyScope), [on(1), on(2)], undefined, inWhole).manager.allocate(pods)?.message;
    assert.equal(
      message('pod', whole),
      'Pod Scope pod with pod-level resources failed admission under pod-scope topology manager',
    );
    assert.equal(
      message('container', whole),
      'Pod Scope pod with pod-level resources failed admission with a container-level topology manager',
    );
    assert.equal(message('pod', pod), refusal.message);
    const missing = { reason: 'EmptyPodSharedPoolError', message: 'none left' };
    const { manager, calls } = world(scope('pod'), [on(1)], () => missing, inWhole);
    assert.deepEqual([manager.allocate(whole), calls], [missing, ['0 whole 1']]);
  });
});

describe('a policy that this machine cannot have stops the agent, as upstream', () => {
  const refused = (config: Partial<KubeletConfig['managers']>, topology = dualSocket): string => {
    try {
      createTopologyManager({
        config: { managers: { ...managers, topologyPolicy: 'restricted', ...config } },
        topology,
        providers: [],
        observer: { admitted: () => undefined, aligned: () => undefined },
        monotonicMs: () => 0,
      });
    } catch (error) {
      return error instanceof KubeletError && error.kind === 'Invalid' ? error.message : String(error);
    }
    return 'accepted';
  };
  const options = (topologyOptions: Record<string, string>) => ({ topologyOptions });
  const large = machineOf({ sockets: 3, nodes: 3, cores: 1, threads: 1 });

  it('by its number of NUMA nodes', () => {
    assert.equal(refused({}, large), 'unsupported on machines with more than 8 NUMA Nodes');
    assert.equal(refused(options({ 'max-allowable-numa-nodes': '9' }), large), 'accepted');
    assert.equal(refused({ topologyPolicy: 'none' }, large), 'accepted');
  });

  it('by options that do not exist or have no such value', () => {
    assert.equal(refused(options({ x: '1' })), 'unknown Topology Manager Policy option: "x"');
    assert.match(refused(options({ 'max-allowable-numa-nodes': '7' })), /should not be less than 8/);
    assert.match(refused(options({ 'max-allowable-numa-nodes': '9e9' })), /unable to convert policy option to integer/);
    assert.match(refused(options({ 'prefer-closest-numa-nodes': 'yes' })), /bad value for option/);
  });

  it('by distances that the kernel does not report', () => {
    const without = { nodes: dualSocket.nodes.map((node) => ({ ...node, distances: [] })) };
    assert.match(refused(options({ 'prefer-closest-numa-nodes': 'true' }), without), /error getting NUMA distances/);
    assert.equal(refused(options({ 'prefer-closest-numa-nodes': 'true' })), 'accepted');
  });
});
