import { apiVersionOf } from '../../../api/client/resource-type.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { dropZeros } from '../../../api/protobuf/drop-zeros.ts';
import { decodeAny, formatDecodeError } from '../../../api/schema/decode.ts';
import type { Changes } from '../../../api/testing/pod-builder.ts';
import { setAt } from '../../../api/testing/set-at.ts';
import { permissivePolicy } from '../../../api/validation/cluster-policy.ts';
import type { ClusterPolicy } from '../../../api/validation/cluster-policy.ts';
import { validateObjectMeta } from '../../../api/validation/metadata.ts';
import { FieldErrors, formatFieldError } from '../../../api/validation/field-error.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import { allResources } from '../all.ts';

export const nowMs = Date.parse('2026-01-01T12:00:00Z');
const request = { user: { name: 'tester', groups: [] }, nowMs };

/** Returns the definition with this apiVersion and kind, such as `apps/v1`, `Deployment`. */
function definitionOf(apiVersion: string, kind: string): ResourceDefinition {
  const found = allResources.find(({ type }) => apiVersionOf(type) === apiVersion && type.kind === kind);
  if (found === undefined) throw new Error(`no kind ${apiVersion} ${kind}`);
  return found;
}

/**
 * One kind from the view of its writers, without a server: what objects become, what is refused, and what tables show.
 */
export class RulesFixture<T extends ApiObject = ApiObject> {
  readonly definition: ResourceDefinition;
  readonly #example: object;
  readonly #policy: ClusterPolicy;

  /** `example` must be an object that is accepted. */
  constructor(apiVersion: string, kind: string, example: object, policy: ClusterPolicy = permissivePolicy) {
    this.#policy = policy;
    this.definition = definitionOf(apiVersion, kind);
    const { namespaced } = this.definition.type;
    this.#example = {
      metadata: {
        name: 'web',
        ...(namespaced && { namespace: 'default' }),
        uid: 'uid-1',
        creationTimestamp: '2026-01-01T11:00:00Z',
      },
      ...example,
      apiVersion,
      kind,
    };
  }

  /** Returns the example with fields set by path, decoded as the server does, without defaults. */
  given(changes: Changes = {}): T {
    const plain: unknown = structuredClone(this.#example);
    for (const [path, value] of Object.entries(changes)) setAt(plain, path, value);
    const { value, errors } = decodeAny(this.definition.schema, plain);
    if (errors.length > 0) throw new Error(errors.map(formatDecodeError).join('\n'));
    return dropZeros(value as ApiObject, this.definition.schema) as T;
  }

  defaulted(changes: Changes = {}): T {
    return this.definition.rules.applyDefaults(this.given(changes)) as T;
  }

  /** Returns the object as a create would store it. */
  created(changes: Changes = {}): T {
    const { rules } = this.definition;
    const object = this.defaulted(changes);
    return (rules.prepareForCreate?.(object, request) ?? object) as T;
  }

  /** Returns the errors of a create, including those of metadata. */
  refusals(changes: Changes = {}): string[] {
    const object = this.created(changes);
    const { rules, type } = this.definition;
    const errors = new FieldErrors();
    validateObjectMeta(errors, 'metadata', object.metadata, {
      clusterScoped: !type.namespaced,
      ...(rules.validateName !== undefined && { checkName: rules.validateName }),
    });
    return [...errors.list, ...rules.validate(object, this.#policy)].map(formatFieldError);
  }

  updated(changes: Changes, before: Changes = {}): T {
    const { rules } = this.definition;
    const old = this.created(before);
    const object = this.defaulted({ ...before, ...changes });
    return (rules.prepareForUpdate?.(object, old, request) ?? object) as T;
  }

  /** Returns the errors of an update from a create with `before` to one that also has `changes`. */
  updateRefusals(changes: Changes, before: Changes = {}): string[] {
    return this.definition.rules
      .validateUpdate(this.updated(changes, before), this.created(before), this.#policy)
      .map(formatFieldError);
  }

  statusRefusals(status: object | undefined, before?: object, changes: Changes = {}): string[] {
    const old = { ...this.created(changes), ...(before !== undefined && { status: before }) };
    return (
      this.definition.rules.validateStatusUpdate?.(
        { ...old, ...(status !== undefined && { status }) },
        old,
        this.#policy,
      ) ?? []
    ).map(formatFieldError);
  }

  warnings(changes: Changes = {}): readonly string[] {
    return this.definition.rules.warnings?.(this.created(changes), undefined) ?? [];
  }

  /** Returns the cells by column, without name and age. */
  cells(changes: Changes = {}): Record<string, string | number | boolean | null> {
    const object = this.defaulted(changes);
    return Object.fromEntries((this.definition.columns ?? []).map(({ name, cell }) => [name, cell(object, nowMs)]));
  }
}
