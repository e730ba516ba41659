import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import { planRollout } from './daemon-rollout.ts';
import { buildDaemon as daemon, buildDaemonFacts, buildNode as node } from './testing/daemon-facts.ts';
import type { GivenDaemons } from './testing/daemon-facts.ts';

type Limits = { readonly maxSurge?: number | string; readonly maxUnavailable?: number | string };

function rolled(limits: Limits, given: Omit<GivenDaemons, 'spec'>, minReadySeconds?: number): string {
  const spec = {
    updateStrategy: { type: 'RollingUpdate' as const, rollingUpdate: limits },
    ...(minReadySeconds !== undefined && { minReadySeconds }),
  };
  const plan = planRollout(buildDaemonFacts({ ...given, spec }));
  return [
    ...plan.create.map((name) => `create ${name}`),
    ...plan.delete.map(({ metadata }) => `delete ${metadata.name}`),
  ].join(', ');
}

/** Builds pods from lines: `n1: old ready` is a daemon pod p1 on node n1; further ones on the node are p1b, p1c. */
function cluster(...lines: string[]): Omit<GivenDaemons, 'spec'> {
  const nodes = lines.map((_, index) => node(`n${index + 1}`));
  const pods = lines.flatMap((line, index): Pod[] =>
    line
      .split(' + ')
      .flatMap((words, which) =>
        words === '' ? [] : [daemon(`p${index + 1}${['', 'b', 'c'][which]}`, `n${index + 1}`, words)],
      ),
  );
  return { nodes, pods };
}

describe('an update in place', () => {
  it('deletes as many old pods as may be unavailable, in node order', () => {
    const four = cluster('old ready', 'old ready', 'old ready', 'old ready');
    assert.equal(rolled({ maxUnavailable: 2 }, four), 'delete p1, delete p2');
    assert.equal(rolled({ maxUnavailable: '26%' }, four), 'delete p1, delete p2');
    assert.equal(rolled({}, four), 'delete p1');
  });

  it('proceeds one pod at a time if both numbers round to zero', () => {
    assert.equal(rolled({ maxUnavailable: 0, maxSurge: 0 }, cluster('old ready', 'old ready')), 'delete p1');
    assert.equal(rolled({ maxUnavailable: 0, maxSurge: 0 }, { nodes: [], pods: [daemon('a', 'n1', 'old ready')] }), '');
  });

  it('counts nodes whose pod is missing, terminating, or new and not available', () => {
    assert.equal(rolled({ maxUnavailable: 2 }, cluster('old ready', 'new')), 'delete p1');
    assert.equal(rolled({ maxUnavailable: 1 }, cluster('old ready', 'new')), '');
    assert.equal(rolled({ maxUnavailable: 1 }, cluster('old ready', '')), '');
    assert.equal(rolled({ maxUnavailable: 1 }, cluster('old ready', 'old ready leaving')), '');
    assert.equal(rolled({ maxUnavailable: 1 }, cluster('old ready', 'new ready')), 'delete p1');
  });

  it('deletes unavailable old pods at once, and counts them', () => {
    assert.equal(rolled({ maxUnavailable: 1 }, cluster('old ready', 'old', 'old')), 'delete p2, delete p3');
    assert.equal(rolled({ maxUnavailable: 3 }, cluster('old ready', 'old', 'old')), 'delete p2, delete p3, delete p1');
  });

  it('ignores nodes with two pods, and counts them as unavailable', () => {
    assert.equal(rolled({ maxUnavailable: 1 }, cluster('old ready', 'old ready + old ready')), '');
    assert.equal(rolled({ maxUnavailable: 1 }, cluster('old ready', 'new ready + new ready')), '');
    assert.equal(rolled({ maxUnavailable: 1 }, cluster('old ready', 'old ready + new ready')), '');
    assert.equal(rolled({ maxUnavailable: 2 }, cluster('old ready', 'old ready + new ready')), 'delete p1');
  });

  it('counts a pod as available after minReadySeconds', () => {
    const two = cluster('old ready', 'new ready');
    assert.equal(rolled({ maxUnavailable: 1 }, two, 3_600), 'delete p1');
    assert.equal(rolled({ maxUnavailable: 1 }, two, 3_601), 'delete p1');
    assert.equal(
      rolled({ maxUnavailable: 1 }, cluster('old ready', 'new ready', 'old ready'), 3_601),
      'delete p1, delete p3',
    );
  });
});

describe('an update with a surge', () => {
  it('creates as many new pods beside old ones as maxSurge allows', () => {
    const four = cluster('old ready', 'old ready', 'old ready', 'old ready');
    assert.equal(rolled({ maxSurge: 2, maxUnavailable: 0 }, four), 'create n1, create n2');
    assert.equal(rolled({ maxSurge: '26%', maxUnavailable: 0 }, four), 'create n1, create n2');
  });

  it('counts nodes with two pods, and deletes the old one once the new one is available', () => {
    assert.equal(rolled({ maxSurge: 1 }, cluster('old ready + new', 'old ready')), '');
    assert.equal(rolled({ maxSurge: 1 }, cluster('old ready + new ready', 'old ready')), 'create n2, delete p1');
    assert.equal(rolled({ maxSurge: 1 }, cluster('old ready + new ready', 'old ready'), 3_601), 'create n2');
  });

  it('ignores nodes with two pods of the same template, and counts them', () => {
    assert.equal(rolled({ maxSurge: 1 }, cluster('new ready + new ready', 'old ready')), '');
    assert.equal(rolled({ maxSurge: 2 }, cluster('new ready + new ready', 'old ready')), 'create n2');
    assert.equal(rolled({ maxSurge: 1 }, cluster('old ready leaving + old ready', 'new ready')), 'create n1');
  });

  it('replaces unavailable old pods without counting them', () => {
    assert.equal(rolled({ maxSurge: 1 }, cluster('old', 'old', 'old ready')), 'create n1, create n2, create n3');
  });

  it('ignores a node that has its new pod, or none', () => {
    assert.equal(rolled({ maxSurge: 1 }, cluster('new', 'new ready', '')), '');
  });

  it('deletes old pods on ineligible nodes only when all others are available', () => {
    const nodes = [node('n1'), node('n2', 'closed')];
    const strays = [daemon('p2', 'n2', 'old ready')];
    assert.equal(rolled({ maxSurge: 1 }, { nodes, pods: [daemon('p1', 'n1', 'new ready'), ...strays] }), 'delete p2');
    assert.equal(rolled({ maxSurge: 1 }, { nodes, pods: [daemon('p1', 'n1', 'new'), ...strays] }), '');
    assert.equal(
      rolled({ maxSurge: 1 }, { nodes, pods: [daemon('p1', 'n1', 'old ready'), ...strays] }),
      'create n1, delete p2',
    );
    assert.equal(
      rolled({ maxSurge: 1 }, { nodes, pods: [daemon('p1', 'n1', 'new'), daemon('p2', 'n2', 'old')] }),
      'delete p2',
    );
  });

  it('ignores pods of a deleted node, which the garbage collector deletes', () => {
    const pods = [daemon('p1', 'n1', 'new ready'), daemon('p9', 'gone', 'old ready')];
    assert.equal(rolled({ maxSurge: 1 }, { nodes: [node('n1')], pods }), '');
  });
});
