import type { ApiObject } from '../../api/client/resource-type.ts';
import type { ResourceDefinition } from './resource-definition.ts';
import type { RequestContext } from './request-context.ts';

export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

/** What an admission plugin judges (upstream: admission.Attributes). */
export interface AdmissionAttributes {
  readonly operation: AdmissionOperation;
  readonly definition: ResourceDefinition;
  /** In which version the request was made, where a plugin is shown another one. */
  readonly requested?: ResourceDefinition;
  /** '' for the resource itself. */
  readonly subresource: string;
  readonly namespace: string;
  /** '' while a generated name is not known. */
  readonly name: string;
  /**
   * The object as it would be stored (for subresources of another kind, such as `binding` and `eviction`, that body);
   * absent for DELETE.
   */
  readonly object: ApiObject | undefined;
  /** What stands there now; absent for CREATE. */
  readonly oldObject: ApiObject | undefined;
  /** CreateOptions, UpdateOptions or DeleteOptions as the request had them. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly context: RequestContext;
}

/**
 * One gate between a request and the store. All mutating ones run first, in their order, then all validating ones, also
 * on what no mutator touched. A refusal is a thrown `ApiStatusError`.
 */
export interface AdmissionPlugin {
  /** Upstream's name, as in `--disable-admission-plugins`. */
  readonly name: string;
  handles(attributes: AdmissionAttributes): boolean;
  /** The object to go on with; the same one when nothing is to change. */
  mutate?(attributes: AdmissionAttributes): ApiObject | Promise<ApiObject>;
  validate?(attributes: AdmissionAttributes): void | Promise<void>;
}
