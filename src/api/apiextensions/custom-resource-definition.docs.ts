import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  CustomResourceColumnDefinitionSchema,
  CustomResourceConversionSchema,
  CustomResourceDefinitionConditionSchema,
  CustomResourceDefinitionNamesSchema,
  CustomResourceDefinitionSchema,
  CustomResourceDefinitionSpecSchema,
  CustomResourceDefinitionStatusSchema,
  CustomResourceDefinitionVersionSchema,
  CustomResourceSubresourceScaleSchema,
  CustomResourceSubresourcesSchema,
  CustomResourceSubresourceStatusSchema,
  CustomResourceValidationSchema,
  SelectableFieldSchema,
  WebhookConversionSchema,
} from './custom-resource-definition.ts';

export const docs: readonly TypeDocs[] = [
  describe(CustomResourceDefinitionNamesSchema, 'The names of a custom kind.', {
    plural: 'The plural in lower case, as in paths. Together with the group it is the name of the definition.',
    singular: 'The singular in lower case. Default: the kind in lower case.',
    shortNames: 'Short names in lower case, for kubectl.',
    kind: 'The kind of the objects, in CamelCase.',
    listKind: 'The kind of a list of the objects. Default: the kind and List.',
    categories: 'Groups of kinds that kubectl shows together, such as all.',
  }),
  describe(CustomResourceValidationSchema, 'How objects of a version are checked.', {
    openAPIV3Schema: 'The schema of the objects, in the form of OpenAPI version 3. It must be structural.',
  }),
  describe(CustomResourceSubresourceStatusSchema, 'Serves the status of the objects as a separate subresource.', {}),
  describe(CustomResourceSubresourceScaleSchema, 'Where the fields are that scaling reads and writes.', {
    specReplicasPath: 'The path of the desired number, below .spec, such as .spec.replicas.',
    statusReplicasPath: 'The path of the actual number, below .status, such as .status.replicas.',
    labelSelectorPath: 'The path of the label selector as a text, below .status or .spec. Autoscalers need it.',
  }),
  describe(CustomResourceSubresourcesSchema, 'The subresources of a version.', {
    status: 'Writes of an object then ignore its status, and writes of the status ignore all other fields.',
    scale: 'Serves the scale subresource, which kubectl scale and autoscalers use.',
  }),
  describe(CustomResourceColumnDefinitionSchema, 'A column of what kubectl get shows.', {
    name: 'The heading of the column.',
    type: 'The type of the values: integer, number, string, boolean or date.',
    format: 'The form of the values, such as int32 or date-time. Programs may use it.',
    description: 'The meaning of the column.',
    priority: '0 always shows the column; a higher number only kubectl get -o wide.',
    jsonPath: 'The path of the value in the object, such as .spec.size.',
  }),
  describe(SelectableFieldSchema, 'A field by which the objects may be selected.', {
    jsonPath: 'The path of the field, such as .spec.color. Its value is a string, an integer or a boolean.',
  }),
  describe(CustomResourceDefinitionVersionSchema, 'A version of a custom kind.', {
    name: 'The name of the version, such as v1 or v1beta1.',
    served: 'Whether the version is served.',
    storage: 'Whether objects are stored in this version. Exactly one version is.',
    deprecated: 'Whether clients are warned that the version is deprecated.',
    deprecationWarning: 'The text of that warning. Default: a text with the version and its successor.',
    schema: 'How objects of this version are checked, pruned and defaulted.',
    subresources: 'Which subresources the version has.',
    additionalPrinterColumns: 'The columns that kubectl get shows after the name. Default: the age.',
    selectableFields: 'Fields that field selectors may name. At most 8.',
  }),
  describe(WebhookConversionSchema, 'How to ask a webhook for a conversion.', {
    clientConfig: 'How to connect to the webhook.',
    conversionReviewVersions:
      'The versions of ConversionReview that the webhook knows. The first that the API server knows is sent.',
  }),
  describe(CustomResourceConversionSchema, 'How objects of one version become those of another.', {
    strategy: 'None only changes apiVersion; Webhook calls a webhook.',
    webhook: 'The webhook. Only for the strategy Webhook.',
  }),
  describe(CustomResourceDefinitionSpecSchema, 'A custom kind.', {
    group: 'The group of the kind, a domain name. The objects are served under /apis/GROUP.',
    names: 'The names of the kind.',
    scope: 'Whether objects are in namespaces: Namespaced or Cluster.',
    versions: 'The versions of the kind. Clients prefer stable ones, then the highest.',
    conversion: 'How objects are converted between versions. Default: the strategy None.',
    preserveUnknownFields: 'Kept from older versions of the API. It must be false.',
  }),
  describe(CustomResourceDefinitionConditionSchema, 'One aspect of the state of a custom kind.', {
    type: 'Established, NamesAccepted, NonStructuralSchema, Terminating or KubernetesAPIApprovalPolicyConformant.',
    status: 'True, False or Unknown.',
    lastTransitionTime: 'When the status last changed.',
    reason: 'The reason of the status, as one word for programs.',
    message: 'The reason of the status, as a text for people.',
    observedGeneration: 'The generation of the definition that the condition is about.',
  }),
  describe(CustomResourceDefinitionStatusSchema, 'The state of a custom kind.', {
    conditions: 'Aspects of the state.',
    acceptedNames: 'The names under which the kind is served. Names that another kind has are not accepted.',
    storedVersions:
      'Every version in which objects may be stored. A version can be removed from spec once it is not listed here.',
    observedGeneration: 'The generation of the definition that was last observed.',
  }),
  describe(
    CustomResourceDefinitionSchema,
    'Defines a custom kind, whose objects are then served as built-in ones are.',
    {
      spec: 'The kind.',
    },
  ),
];
