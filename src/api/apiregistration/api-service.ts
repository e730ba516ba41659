/** APIService of apiregistration.k8s.io/v1. The fields follow k8s.io/kube-aggregator. */
import { ConditionStatusSchema } from '../core/pod-status.ts';
import { ObjectMetaSchema } from '../core/meta.ts';
import {
  array,
  boolean,
  bytes,
  field,
  filled,
  int32,
  object,
  pointer,
  required,
  string,
  time,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';

export const APIServiceReferenceSchema = object('ServiceReference', {
  namespace: field(1, string),
  name: field(2, string),
  port: pointer(3, int32),
});
export type APIServiceReference = Infer<typeof APIServiceReferenceSchema>;

export const APIServiceSpecSchema = object('APIServiceSpec', {
  service: field(1, APIServiceReferenceSchema),
  group: field(2, string),
  version: field(3, string),
  insecureSkipTLSVerify: field(4, boolean),
  caBundle: field(5, bytes),
  groupPriorityMinimum: required(7, int32),
  versionPriority: required(8, int32),
});
export type APIServiceSpec = Infer<typeof APIServiceSpecSchema>;

export const APIServiceConditionSchema = object('APIServiceCondition', {
  type: required(1, string),
  status: required(2, ConditionStatusSchema),
  lastTransitionTime: field(3, time),
  reason: field(4, string),
  message: field(5, string),
});
export type APIServiceCondition = Infer<typeof APIServiceConditionSchema>;

export const APIServiceStatusSchema = object('APIServiceStatus', {
  conditions: field(1, array(APIServiceConditionSchema, ['type'], { patch: { key: 'type' } })),
});
export type APIServiceStatus = Infer<typeof APIServiceStatusSchema>;

/** Cluster-scoped. */
export const APIServiceSchema = object('APIService', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, APIServiceSpecSchema),
  status: field(3, APIServiceStatusSchema),
});
export type APIService = Infer<typeof APIServiceSchema>;

export const findAvailable = ({ status }: Pick<APIService, 'status'>): APIServiceCondition | undefined =>
  status?.conditions?.find(({ type }) => type === 'Available');

export const isAvailable = (service: Pick<APIService, 'status'>): boolean => findAvailable(service)?.status === 'True';

/** The initial condition of a local APIService, which this API server serves itself. */
export const localCondition: APIServiceCondition = {
  type: 'Available',
  status: 'True',
  reason: 'Local',
  message: 'Local APIServices are always available',
};
