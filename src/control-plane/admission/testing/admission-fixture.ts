import { namespaces } from '../../../api/client/resource-types.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import type { Namespace } from '../../../api/core/namespace.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../../model/admission.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import { FakeObjectReader } from '../../model/testing/fake-object-reader.ts';

export interface Write<T extends ApiObject = ApiObject> {
  readonly object?: T;
  readonly old?: T;
  readonly subresource?: string;
  readonly operation?: AdmissionAttributes['operation'];
  readonly user?: string;
  readonly dryRun?: boolean;
  readonly options?: Readonly<Record<string, unknown>>;
}

/** The result of a write: the object that would be stored, or the text of the refusal. */
export interface Outcome<T> {
  readonly object: T | undefined;
  readonly refusal: string;
  readonly error: ApiStatusError | undefined;
  readonly warnings: readonly string[];
  readonly annotations: Readonly<Record<string, string>>;
}

export const namespace = (
  name: string,
  labels: Record<string, string> = {},
  phase: 'Active' | 'Terminating' = 'Active',
): Namespace => ({
  metadata: { name, namespace: '', uid: `uid-${name}`, labels },
  spec: {},
  status: { phase },
});

/**
 * A cache that tests fill, and writes that are admitted as in the registry. The namespaces `default` and `kube-system`
 * exist.
 */
export class AdmissionFixture {
  readonly reader = new FakeObjectReader();

  constructor() {
    this.reader.put(namespaces, namespace('default'), namespace('kube-system'));
  }

  attributes<T extends ApiObject>(
    type: ResourceType<T>,
    write: Write<T>,
    notes: { warnings: string[]; annotations: Record<string, string> } = { warnings: [], annotations: {} },
  ): AdmissionAttributes {
    const { object, old, subresource = '', user = 'jane', dryRun = false, options = {} } = write;
    const { namespace: space = '', name = '' } = (object ?? old)?.metadata ?? {};
    return {
      operation: write.operation ?? (object === undefined ? 'DELETE' : old === undefined ? 'CREATE' : 'UPDATE'),
      definition: { type } as unknown as ResourceDefinition,
      subresource,
      namespace: type.namespaced ? space : '',
      name,
      object,
      oldObject: old,
      options,
      context: {
        user: { name: user, groups: ['devs'] },
        dryRun,
        fieldManager: 'test',
        fieldValidation: 'Strict',
        warn: (text) => notes.warnings.push(text),
        annotate: (key, value) => void (notes.annotations[key] = value),
      },
    };
  }

  async write<T extends ApiObject>(
    plugin: AdmissionPlugin,
    type: ResourceType<T>,
    write: Write<T>,
  ): Promise<Outcome<T>> {
    const notes = { warnings: [], annotations: {} };
    let attributes = this.attributes(type, write, notes);
    try {
      if (plugin.mutate !== undefined && plugin.handles(attributes))
        attributes = { ...attributes, object: await plugin.mutate(attributes) };
      if (plugin.handles(attributes)) await plugin.validate?.(attributes);
      // It returns the same object with the same type.
      return { object: attributes.object as T | undefined, refusal: '', error: undefined, ...notes };
    } catch (error) {
      if (!(error instanceof ApiStatusError)) throw error;
      return { object: undefined, refusal: error.message, error, ...notes };
    }
  }

  /** Returns only the refusal; '' if the write is admitted. */
  async refusal<T extends ApiObject>(plugin: AdmissionPlugin, type: ResourceType<T>, write: Write<T>): Promise<string> {
    return (await this.write(plugin, type, write)).refusal;
  }
}
