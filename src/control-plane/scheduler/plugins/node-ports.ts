import { podInfoOf } from '../framework/pod-info.ts';
import { checkWith, skip } from '../framework/plugin.ts';
import type { Plugin } from '../framework/plugin.ts';
import { unschedulable } from '../framework/rejection.ts';
import { UsedPorts } from '../framework/used-ports.ts';

const NAME = 'NodePorts';
const rejection = unschedulable(NAME, "node(s) didn't have free ports for the requested pod ports");

/** Rejects nodes on which a host port of the pod is in use. */
export const nodePorts: Plugin = {
  name: NAME,
  hints: {
    Node: [{ actions: ['Add'] }],
    Pod: [
      {
        actions: ['Delete'],
        mayHelp: (pod, { before }) => {
          if (before === undefined) return false;
          const freed = new UsedPorts();
          for (const port of podInfoOf(before).hostPorts) freed.add(port);
          return podInfoOf(pod).hostPorts.some((port) => freed.conflictsWith(port));
        },
      },
    ],
  },
  preFilter: ({ hostPorts }) =>
    hostPorts.length === 0
      ? skip
      : checkWith(({ usedPorts }) => (hostPorts.some((port) => usedPorts.conflictsWith(port)) ? rejection : undefined)),
};
