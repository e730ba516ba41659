import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  APIServiceConditionSchema,
  APIServiceReferenceSchema,
  APIServiceSchema,
  APIServiceSpecSchema,
  APIServiceStatusSchema,
} from './api-service.ts';

export const docs: readonly TypeDocs[] = [
  describe(APIServiceReferenceSchema, 'The Service behind which a version of an API is served.', {
    namespace: 'The namespace of the Service.',
    name: 'The name of the Service.',
    port: 'The port of the Service. Default 443.',
  }),
  describe(APIServiceSpecSchema, 'Which server serves a version of an API, and its priority in discovery.', {
    service: 'The Service that serves it. Absent: this API server serves it itself.',
    group: 'The group, such as metrics.k8s.io.',
    version: 'The version, such as v1beta1.',
    insecureSkipTLSVerify: 'Does not check the certificate of the Service. Default false.',
    caBundle: 'The CA certificates in PEM that verify the certificate of the Service. Default: those of the system.',
    groupPriorityMinimum: 'The priority of the group in discovery: higher values come first. From 1 to 20000.',
    versionPriority: 'The priority of the version in its group: higher values come first. From 1 to 1000.',
  }),
  describe(APIServiceConditionSchema, 'A condition of an APIService.', {
    type: 'The type: Available.',
    status: 'Whether it holds: True, False or Unknown.',
    lastTransitionTime: 'When the status changed last.',
    reason: 'The reason of the status, as one word for programs.',
    message: 'The reason of the status, as a text for people.',
  }),
  describe(APIServiceStatusSchema, 'The state of an APIService.', {
    conditions: 'The conditions, each of its own type.',
  }),
  describe(APIServiceSchema, 'A version of an API, and the server that serves it. Its name is VERSION.GROUP.', {
    spec: 'The server of the version.',
    status: 'Whether the server is available.',
  }),
];
