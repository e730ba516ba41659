/** Field numbers of node, v1: see `field-numbers.ts` for how to read them. */
export const nodeNumbers = {
  Overhead: 'podFixed:1',
  RuntimeClass: 'metadata:1 handler:2 overhead:3? scheduling:4?',
  Scheduling: 'nodeSelector:1 tolerations:2',
} as const;
