/** Namespace of core/v1. Which fields exist follows k8s.io/api/core/v1. */
import { array, object, oneOf, required, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from './meta.ts';
import { ConditionStatusSchema } from './pod-status.ts';

export const NamespaceSpecSchema = object('NamespaceSpec', {
  finalizers: array(string),
});
export type NamespaceSpec = Infer<typeof NamespaceSpecSchema>;

export const NamespaceConditionSchema = object('NamespaceCondition', {
  type: required(string),
  status: required(ConditionStatusSchema),
  lastTransitionTime: time,
  reason: string,
  message: string,
});
export type NamespaceCondition = Infer<typeof NamespaceConditionSchema>;

export const NamespaceStatusSchema = object('NamespaceStatus', {
  phase: oneOf('Active', 'Terminating'),
  conditions: array(NamespaceConditionSchema, ['type']),
});
export type NamespaceStatus = Infer<typeof NamespaceStatusSchema>;

export const NamespaceSchema = object('Namespace', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: required(NamespaceSpecSchema),
  status: NamespaceStatusSchema,
});
export type Namespace = Infer<typeof NamespaceSchema>;

export const NamespaceListSchema = object('NamespaceList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(NamespaceSchema)),
});
export type NamespaceList = Infer<typeof NamespaceListSchema>;
