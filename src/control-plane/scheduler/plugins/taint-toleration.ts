import type { Taint } from '../../../api/core/node.ts';
import type { Toleration } from '../../../api/core/scheduling.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import { checkWith, normalizeByMax } from '../framework/plugin.ts';
import type { Plugin } from '../framework/plugin.ts';
import { unresolvable } from '../framework/rejection.ts';
import { findUntoleratedTaint, isTolerated } from '../framework/taints.ts';

const NAME = 'TaintToleration';
const rejection = unresolvable(NAME, 'node(s) had untolerated taint(s)');
const none: readonly Toleration[] = [];

/** Rejects nodes with taints that the pod does not tolerate. A `PreferNoSchedule` taint only lowers the score. */
export const taintToleration: Plugin = {
  name: NAME,
  hints: {
    Node: [
      {
        actions: ['Add', 'UpdateNodeTaint'],
        mayHelp: (pod, { before, after }) => {
          const keepsAway = (taints: readonly Taint[] | undefined): boolean =>
            findUntoleratedTaint(taints ?? [], pod.spec.tolerations ?? none) !== undefined;
          return !keepsAway(after?.spec?.taints) && (before === undefined || keepsAway(before.spec?.taints));
        },
      },
    ],
    Pod: [{ actions: ['UpdatePodToleration'], mayHelp: (pod, { after }) => after?.metadata.uid === pod.metadata.uid }],
  },
  preFilter: (pod) =>
    checkWith((node) =>
      node.taints.length > 0 && findUntoleratedTaint(node.taints, pod.tolerations) !== undefined
        ? rejection
        : undefined,
    ),
  preScore: (pod) => {
    const soft = pod.tolerations.filter(({ effect }) => effect === undefined || effect === 'PreferNoSchedule');
    return { score: (node) => countUntolerated(node, soft), normalize: (scores) => normalizeByMax(scores, true) };
  },
};

function countUntolerated(node: NodeInfo, tolerations: readonly Toleration[]): number {
  let count = 0;
  for (const taint of node.taints) if (taint.effect === 'PreferNoSchedule' && !isTolerated(taint, tolerations)) count++;
  return count;
}
