import type { ApiObject } from '../../api/client/resource-type.ts';
import type { ResourceDefinition } from './resource-definition.ts';
import type { RequestContext } from './request-context.ts';

export type AdmissionOperation = 'CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT';

/** The attributes of a request for admission plugins (upstream: admission.Attributes). */
export interface AdmissionAttributes {
  readonly operation: AdmissionOperation;
  readonly definition: ResourceDefinition;
  /** The version of the request, if the plugin sees the object in another one. */
  readonly requested?: ResourceDefinition;
  /** '' for the resource itself. */
  readonly subresource: string;
  readonly namespace: string;
  /** The name; '' while a generated name is not known. */
  readonly name: string;
  /**
   * The object as it would be stored; absent for DELETE. For subresources of another kind, such as `binding` and
   * `eviction`, it is that body.
   */
  readonly object: ApiObject | undefined;
  /** The existing object; absent for CREATE. */
  readonly oldObject: ApiObject | undefined;
  /** CreateOptions, UpdateOptions or DeleteOptions of the request. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly context: RequestContext;
}

/**
 * An admission plugin. All mutating plugins run first, in order, then all validating ones. A refusal is a thrown
 * `ApiStatusError`.
 */
export interface AdmissionPlugin {
  /** Upstream's name, as in `--disable-admission-plugins`. */
  readonly name: string;
  handles(attributes: AdmissionAttributes): boolean;
  /** Returns the changed object, or the same one if nothing changes. */
  mutate?(attributes: AdmissionAttributes): ApiObject | Promise<ApiObject>;
  validate?(attributes: AdmissionAttributes): void | Promise<void>;
}
