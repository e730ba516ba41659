import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  ConfiguredInitializerSchema,
  InitializerConfigurationSchema,
  InitializerRuleSchema,
} from './initializer-configuration.ts';

export const docs: readonly TypeDocs[] = [
  describe(InitializerRuleSchema, 'Selects resources.', {
    apiGroups: 'The API groups; * selects all.',
    apiVersions: 'The API versions; * selects all.',
    resources: 'The resources, without subresources; * selects all.',
  }),
  describe(ConfiguredInitializerSchema, 'A controller that acts on new objects before they are shown.', {
    name: 'The name that objects list as pending, such as podimage.example.com.',
    rules: 'The resources whose new objects it initializes.',
  }),
  describe(
    InitializerConfigurationSchema,
    'Lists controllers that act on new objects before other clients see them. Served only with --runtime-config=admissionregistration.k8s.io/v1alpha1=true.',
    { initializers: 'The controllers, in the order in which they act.' },
  ),
];
