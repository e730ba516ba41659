/** CronJob of batch/v1. The fields follow k8s.io/api/batch/v1. */
import {
  array,
  boolean,
  field,
  filled,
  int32,
  int64,
  object,
  oneOf,
  pointer,
  required,
  string,
  time,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { EmbeddedObjectMetaSchema, ObjectMetaSchema, ObjectReferenceSchema } from '../core/meta.ts';
import { JobSpecSchema } from './job.ts';

export const JobTemplateSpecSchema = object('JobTemplateSpec', {
  metadata: filled(1, EmbeddedObjectMetaSchema),
  spec: filled(2, JobSpecSchema),
});
export type JobTemplateSpec = Infer<typeof JobTemplateSpecSchema>;

export const CronJobSpecSchema = object('CronJobSpec', {
  schedule: required(1, string),
  timeZone: pointer(8, string),
  startingDeadlineSeconds: pointer(2, int64),
  concurrencyPolicy: field(3, oneOf('Allow', 'Forbid', 'Replace')),
  suspend: pointer(4, boolean),
  jobTemplate: required(5, JobTemplateSpecSchema),
  successfulJobsHistoryLimit: pointer(6, int32),
  failedJobsHistoryLimit: pointer(7, int32),
});
export type CronJobSpec = Infer<typeof CronJobSpecSchema>;

export const CronJobStatusSchema = object('CronJobStatus', {
  active: field(1, array(ObjectReferenceSchema)),
  lastScheduleTime: field(4, time),
  lastSuccessfulTime: field(5, time),
});
export type CronJobStatus = Infer<typeof CronJobStatusSchema>;

export const CronJobSchema = object('CronJob', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: required(2, CronJobSpecSchema),
  status: field(3, CronJobStatusSchema),
});
export type CronJob = Infer<typeof CronJobSchema>;
