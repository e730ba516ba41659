import { array, boolean, int32, object, required, smallInt64, string } from '../../../api/schema/schema.ts';
import type { Infer } from '../../../api/schema/schema.ts';
import { PolicyExtenderSchema } from '../extenders/extender-config.ts';

const ServiceAffinitySchema = object('ServiceAffinity', { labels: array(string) });
const LabelsPresenceSchema = object('LabelsPresence', { labels: array(string), presence: boolean });
const CapacityRatioSchema = object('RequestedToCapacityRatioArguments', {
  shape: array(object('UtilizationShapePoint', { utilization: required(int32), score: required(int32) })),
  resources: array(object('ResourceSpec', { name: required(string), weight: smallInt64 })),
});

/** The schema of a Policy (kubescheduler v1), the format of `--policy-config-file` up to 1.22. */
export const PolicySchema = object('Policy', {
  apiVersion: string,
  kind: string,
  predicates: array(
    object('PredicatePolicy', {
      name: required(string),
      argument: object('PredicateArgument', {
        serviceAffinity: ServiceAffinitySchema,
        labelsPresence: LabelsPresenceSchema,
      }),
    }),
  ),
  priorities: array(
    object('PriorityPolicy', {
      name: required(string),
      weight: smallInt64,
      argument: object('PriorityArgument', {
        serviceAntiAffinity: object('ServiceAntiAffinity', { label: string }),
        labelPreference: object('LabelPreference', { label: string, presence: boolean }),
        requestedToCapacityRatioArguments: CapacityRatioSchema,
      }),
    }),
  ),
  extenders: array(PolicyExtenderSchema),
  hardPodAffinitySymmetricWeight: int32,
  alwaysCheckAllPredicates: boolean,
});
export type PolicySource = Infer<typeof PolicySchema>;
export type PredicateSource = NonNullable<PolicySource['predicates']>[number];
export type PrioritySource = NonNullable<PolicySource['priorities']>[number];
