import { nodeTaints } from '../../../api/annotations.ts';
import type { Taint } from '../../../api/core/node.ts';
import { checkWith } from '../framework/plugin.ts';
import type { Plugin } from '../framework/plugin.ts';
import { unresolvable } from '../framework/rejection.ts';
import { isTolerated } from '../framework/taints.ts';

const NAME = 'NodeUnschedulable';
const rejection = unresolvable(NAME, 'node(s) were unschedulable');
/**
 * The taint of a cordoned node. A pod that tolerates it fits even before the node lifecycle controller has added the
 * taint.
 */
const taint: Taint = { key: nodeTaints.unschedulable, effect: 'NoSchedule' };

/** Rejects cordoned nodes. */
export const nodeUnschedulable: Plugin = {
  name: NAME,
  hints: {
    Node: [
      {
        actions: ['Add', 'UpdateNodeTaint'],
        mayHelp: (_pod, { before, after }) =>
          after?.spec?.unschedulable !== true && (before === undefined || before.spec?.unschedulable === true),
      },
    ],
    Pod: [
      {
        actions: ['UpdatePodToleration'],
        mayHelp: (pod, { after }) =>
          after?.metadata.uid === pod.metadata.uid && isTolerated(taint, after.spec.tolerations ?? []),
      },
    ],
  },
  preFilter: (pod) => {
    const tolerated = isTolerated(taint, pod.tolerations);
    return checkWith(({ node }) => (node.spec?.unschedulable === true && !tolerated ? rejection : undefined));
  },
};
