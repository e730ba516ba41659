import assert from 'node:assert/strict';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { podInfoOf } from '../framework/pod-info.ts';
import type { Plugin } from '../framework/plugin.ts';
import { cacheOf } from './builders.ts';
import type { ObjectLists } from './builders.ts';

export interface Setting extends ObjectLists {
  readonly nodes: readonly Node[];
  readonly there?: readonly Pod[];
}

/**
 * Returns the plugin's result for each node: '' for success, or the reason, with `!` in front if evictions cannot help.
 * Returns `skip`, or the reason, if preFilter decides for all nodes.
 */
export function filterAll(plugin: Plugin, pod: Pod, { there = [], ...world }: Setting): readonly string[] | string {
  const cache = cacheOf({ ...world, pods: there });
  const result = plugin.preFilter?.(podInfoOf(pod), cache);
  if (result === undefined || result.kind === 'skip') return 'skip';
  if (result.kind === 'rejected')
    return `${result.rejection.code === 'Unschedulable' ? '' : '!'}${result.rejection.reasons.join('; ')}`;
  return world.nodes.map(({ metadata }) => {
    const node = cache.node(metadata.name);
    assert.ok(node !== undefined);
    const rejection = result.check.filter(node);
    return rejection === undefined
      ? ''
      : `${rejection.code === 'Unschedulable' ? '' : '!'}${rejection.reasons.join('; ')}`;
  });
}

/** Returns the normalized scores of all nodes, or undefined if the plugin does not score the pod. */
export function scoreAll(plugin: Plugin, pod: Pod, { there = [], ...world }: Setting): readonly number[] | undefined {
  const cache = cacheOf({ ...world, pods: there });
  const nodes = world.nodes.map(({ metadata }) => cache.node(metadata.name)).filter((node) => node !== undefined);
  const scorer = plugin.preScore?.(podInfoOf(pod), cache, nodes);
  if (scorer === undefined) return undefined;
  const scores = nodes.map((node) => scorer.score(node));
  scorer.normalize?.(scores, nodes);
  return scores;
}
