import { checkWith, skip } from '../framework/plugin.ts';
import type { Plugin } from '../framework/plugin.ts';
import { unresolvable } from '../framework/rejection.ts';

const NAME = 'NodeName';
const rejection = unresolvable(NAME, "node(s) didn't match the requested node name");

/**
 * Rejects nodes other than `spec.nodeName`. Pods with a node name are not scheduled, so this matters only in dry runs.
 */
export const nodeName: Plugin = {
  name: NAME,
  hints: { Node: [{ actions: ['Add'] }] },
  preFilter: ({ pod }) => {
    const wanted = pod.spec.nodeName ?? '';
    return wanted === '' ? skip : checkWith((node) => (node.name === wanted ? undefined : rejection));
  },
};
