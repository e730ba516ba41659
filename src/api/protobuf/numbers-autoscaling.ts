/** Field numbers of autoscaling, v1: see `field-numbers.ts` for how to read them. */
export const autoscalingNumbers = {
  Scale: 'metadata:1 spec:2 status:3',
  ScaleSpec: 'replicas:1',
  ScaleStatus: 'replicas:1 selector:2',
} as const;
