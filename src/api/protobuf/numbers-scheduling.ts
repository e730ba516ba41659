/** Field numbers of scheduling, v1: see `field-numbers.ts` for how to read them. */
export const schedulingNumbers = {
  PriorityClass: 'metadata:1 value:2 globalDefault:3 description:4 preemptionPolicy:5?',
} as const;
