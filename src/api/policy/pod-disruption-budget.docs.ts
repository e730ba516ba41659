import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  PodDisruptionBudgetSpecSchema,
  PodDisruptionBudgetStatusSchema,
  PodDisruptionBudgetSchema,
} from './pod-disruption-budget.ts';

export const docs: readonly TypeDocs[] = [
  describe(PodDisruptionBudgetSpecSchema, 'The limits of a PodDisruptionBudget.', {
    minAvailable:
      'How many pods must remain available after an eviction, as a number or percentage. Not together with maxUnavailable.',
    selector: 'Selects the pods. An empty selector selects all pods of the namespace.',
    maxUnavailable:
      'How many pods may be unavailable after an eviction, as a number or percentage. Not together with minAvailable.',
    unhealthyPodEvictionPolicy:
      'When running pods that are not ready may be evicted: IfHealthyBudget, only if enough pods are healthy, or AlwaysAllow. Default IfHealthyBudget.',
  }),
  describe(PodDisruptionBudgetStatusSchema, 'The state of a PodDisruptionBudget.', {
    observedGeneration: 'The `metadata.generation` that the controller saw when it wrote this status.',
    disruptedPods: 'Pods whose eviction was allowed, with the time, until the controller sees their deletion.',
    disruptionsAllowed: 'How many pods may be evicted now.',
    currentHealthy: 'The number of healthy pods.',
    desiredHealthy: 'The minimum number of healthy pods.',
    expectedPods: 'The number of pods that the budget counts.',
    conditions: 'Conditions of the budget: DisruptionAllowed.',
  }),
  describe(PodDisruptionBudgetSchema, 'Limits how many pods of a group may be evicted at the same time.', {}),
];
