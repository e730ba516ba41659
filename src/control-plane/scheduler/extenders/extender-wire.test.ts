import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { podInfoOf } from '../framework/pod-info.ts';
import { buildNode, buildPod } from '../testing/builders.ts';
import {
  bindingArgs,
  filterArgs,
  nodeText,
  preemptionArgs,
  readFilterAnswer,
  readPreemptionAnswer,
  readPriorities,
  throwReported,
} from './extender-wire.ts';

const pod = buildPod('x');
const parsed = (pieces: readonly string[]): Record<string, unknown> =>
  JSON.parse(pieces.join('')) as Record<string, unknown>;

describe('requests to extenders', () => {
  it('use the field names of the Go types', () => {
    const nodes = ['a', 'b'].map((name) => buildNode(name));
    const whole = parsed(filterArgs(pod, { texts: nodes.map(nodeText) }));
    assert.deepEqual(Object.keys(whole), ['Pod', 'Nodes', 'NodeNames']);
    assert.deepEqual(whole['Nodes'], JSON.parse(JSON.stringify({ metadata: {}, items: nodes })));
    const names = parsed(filterArgs(pod, { names: ['a'] }));
    assert.deepEqual([names['Nodes'], names['NodeNames']], [null, ['a']]);
    assert.deepEqual(parsed(filterArgs(pod, { texts: [] }))['Nodes'], { metadata: {}, items: [] });
    assert.deepEqual(parsed(bindingArgs(pod, 'a')), {
      PodName: 'x',
      PodNamespace: 'default',
      PodUID: 'uid-x',
      Node: 'a',
    });
  });

  it('name victims with their pods, or with their UIDs', () => {
    const candidates = [{ nodeName: 'a', victims: [podInfoOf(pod)], budgetViolations: 1 }];
    const whole = parsed(preemptionArgs(pod, candidates, false));
    const { Pods, NumPDBViolations } =
      (whole['NodeNameToVictims'] as Record<string, Record<string, unknown>>)['a'] ?? {};
    assert.deepEqual([(Pods as unknown[]).length, NumPDBViolations, whole['NodeNameToMetaVictims']], [1, 1, null]);
    assert.deepEqual(parsed(preemptionArgs(pod, candidates, true))['NodeNameToMetaVictims'], {
      a: { Pods: [{ UID: 'uid-x' }], NumPDBViolations: 1 },
    });
  });
});

describe('responses of extenders', () => {
  it('are read case-insensitively', () => {
    const failed = { failednodes: { b: 'no' }, FailedAndUnresolvableNodes: { c: 'never' } };
    const { kept, ...rest } = readFilterAnswer({ NODENAMES: ['a'], ...failed }, true);
    assert.deepEqual(kept, ['a']);
    assert.deepEqual(rest, { failed: new Map([['b', 'no']]), unresolvable: new Map([['c', 'never']]) });
    assert.deepEqual(readFilterAnswer({ Nodes: { Items: [{ metadata: { name: 'a' } }] } }, false).kept, ['a']);
    assert.deepEqual(readFilterAnswer(undefined, false).kept, [], 'no nodes are named: none is left');
    assert.deepEqual([...readPriorities([{ host: 'a', SCORE: 3 }])], [['a', 3]]);
    assert.deepEqual(
      [...readPreemptionAnswer({ nodeNameToMetaVictims: { a: { pods: [{ UID: 'u' }] } } })],
      [['a', { uids: ['u'], budgetViolations: 0 }]],
    );
  });

  it('may contain node names that are special names in JavaScript', () => {
    const answer = JSON.parse('{"failedNodes":{"__proto__":"odd","constructor":"odd"}}') as unknown;
    assert.deepEqual([...readFilterAnswer(answer, true).failed.keys()], ['__proto__', 'constructor']);
  });

  for (const [name, read] of [
    ['reports an error', () => readFilterAnswer({ Error: 'broken' }, true)],
    ['names no list of nodes', () => readFilterAnswer({ nodeNames: 'a' }, true)],
    ['names nodes that are no texts', () => readFilterAnswer({ nodeNames: [{}] }, true)],
    ['has reasons that are no texts', () => readFilterAnswer({ failedNodes: { a: 1 } }, true)],
    ['has points that are no numbers', () => readPriorities([{ host: 'a', score: '1' }])],
    ['has points that are no whole numbers', () => readPriorities([{ host: 'a', score: 0.5 }])],
    ['is not a list of points', () => readPriorities({ a: 1 })],
    ['has victims that are no list', () => readPreemptionAnswer({ nodeNameToMetaVictims: { a: { pods: 'u' } } })],
    ['reports that it has not bound', () => throwReported({ error: 'no' })],
  ] as const) {
    it(`fails when it ${name}`, () => assert.throws(read));
  }
});
