import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StatsDepth } from '../../ports/stats.ts';
import { GroupSamples, nextRate } from './group-samples.ts';
import { labelText, numberText } from './exposition.ts';
import { ContainerPaths } from './pod-groups.ts';
import { takesGzip } from './stats-endpoints.ts';
import { ModelNode } from './testing/model-node.ts';

describe('rates', () => {
  const node = new ModelNode(() => 0);
  const use = (atMs: number, cpuNs: number) => {
    node.add('/a', { cpuNs });
    const found = node.use('/a');
    assert.ok(found !== undefined);
    return { ...found, atMs };
  };

  it('are CPU time over the time since the previous sample', () => {
    assert.equal(
      nextRate({ base: use(0, 1e9), usageNanoCores: undefined }, use(10_000, 6e9)).usageNanoCores,
      500_000_000,
    );
  });

  it('are not computed over less than a second: the last rate is kept', () => {
    const base = use(0, 1e9);
    assert.deepEqual(nextRate({ base, usageNanoCores: 7 }, use(400, 2e9)), { base, usageNanoCores: 7 });
  });

  it('start again with a recreated group, and when the clock was set back', () => {
    assert.equal(nextRate({ base: use(0, 5e9), usageNanoCores: 7 }, use(10_000, 1e9)).usageNanoCores, undefined);
    assert.equal(nextRate({ base: use(10_000, 1e9), usageNanoCores: 7 }, use(5000, 2e9)).usageNanoCores, undefined);
  });
});

describe('kept looks', () => {
  it('serve requests for as much or less, and not for more', () => {
    const asked: StatsDepth[] = [];
    class CountingNode extends ModelNode {
      override use(path: string, depth: StatsDepth = 'all'): ReturnType<ModelNode['use']> {
        asked.push(depth);
        return super.use(path);
      }
    }
    const node = new CountingNode(() => 0);
    node.add('/a', { cpuNs: 0 });
    const samples = new GroupSamples(node, () => 0);
    for (const depth of ['cpuAndMemory', 'summary', 'cpuAndMemory', 'summary', 'all', 'summary', 'all'] as const)
      samples.look('/a', depth, 1000);
    assert.deepEqual(asked, ['cpuAndMemory', 'summary', 'all']);
  });

  it('of removed or no longer requested groups are dropped', () => {
    let now = 0;
    const node = new ModelNode(() => now);
    const samples = new GroupSamples(node, () => now);
    node.add('/a', { cpuNs: 0 });
    samples.look('/a', 'all', 1000);
    now = 10_000;
    node.work('/a', 5e9);
    assert.equal(samples.look('/a', 'cpuAndMemory', 1000)?.usageNanoCores, 500_000_000);
    samples.retain(new Set());
    now = 20_000;
    assert.equal(samples.look('/a', 'all', 1000)?.usageNanoCores, undefined);
    node.groups.delete('/a');
    now = 30_000;
    assert.equal(samples.look('/a', 'all', 1000), undefined);
  });
});

describe('groups of containers', () => {
  it('are found by the id in their names, and searched once', () => {
    let listed = 0;
    const paths = new ContainerPaths(() => {
      listed++;
      return ['cri-containerd-abc.scope', 'def'];
    });
    assert.deepEqual(
      [paths.find('/pod', 'abc'), paths.find('/', 'def'), paths.find('/pod', 'abc'), paths.find('/pod', 'xyz')],
      ['/pod/cri-containerd-abc.scope', '/def', '/pod/cri-containerd-abc.scope', undefined],
    );
    assert.equal(listed, 3);
  });
});

describe('the text format', () => {
  it('quotes labels and writes numbers as Prometheus reads them', () => {
    assert.equal(labelText({ a: 'x"y\\z\n', b: '' }), 'a="x\\"y\\\\z\\n",b=""');
    assert.deepEqual([Infinity, -Infinity, 0.5, 1e21].map(numberText), ['+Inf', '-Inf', '0.5', '1e+21']);
    assert.deepEqual(['gzip', 'br, gzip', '*', 'gzip;q=0.0', ''].map(takesGzip), [true, true, false, false, false]);
  });
});
