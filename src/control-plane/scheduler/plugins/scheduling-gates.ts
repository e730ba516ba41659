import type { Plugin } from '../framework/plugin.ts';
import { unresolvable } from '../framework/rejection.ts';

const NAME = 'SchedulingGates';

/** Keeps pods with scheduling gates out of the queue. */
export const schedulingGates: Plugin = {
  name: NAME,
  hints: {
    Pod: [
      {
        actions: ['UpdatePodSchedulingGatesEliminated'],
        mayHelp: (pod, { after }) => after?.metadata.uid === pod.metadata.uid,
      },
    ],
  },
  preEnqueue: ({ spec }) => {
    const gates = spec.schedulingGates ?? [];
    // The names are separated by spaces, as Go prints a slice.
    return gates.length === 0
      ? undefined
      : unresolvable(NAME, `waiting for scheduling gates: [${gates.map((gate) => gate.name).join(' ')}]`);
  },
};
