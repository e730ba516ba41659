/** Namespace of core/v1. The fields follow k8s.io/api/core/v1. */
import { array, field, filled, object, oneOf, required, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from './meta.ts';
import { ConditionStatusSchema } from './pod-status.ts';

export const NamespaceSpecSchema = object('NamespaceSpec', {
  finalizers: field(1, array(string)),
});
export type NamespaceSpec = Infer<typeof NamespaceSpecSchema>;

export const NamespaceConditionSchema = object('NamespaceCondition', {
  type: required(1, string),
  status: required(2, ConditionStatusSchema),
  lastTransitionTime: field(4, time),
  reason: field(5, string),
  message: field(6, string),
});
export type NamespaceCondition = Infer<typeof NamespaceConditionSchema>;

export const NamespaceStatusSchema = object('NamespaceStatus', {
  phase: field(1, oneOf('Active', 'Terminating')),
  conditions: field(2, array(NamespaceConditionSchema, ['type'])),
});
export type NamespaceStatus = Infer<typeof NamespaceStatusSchema>;

export const NamespaceSchema = object('Namespace', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, NamespaceSpecSchema),
  status: field(3, NamespaceStatusSchema),
});
export type Namespace = Infer<typeof NamespaceSchema>;
