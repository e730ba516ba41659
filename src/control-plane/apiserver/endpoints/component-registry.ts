import type { ListOptions } from '../../../api/client/api-client.ts';
import { componentStatuses } from '../../../api/client/resource-types.ts';
import type { ComponentStatus } from '../../../api/core/component-status.ts';
import { compileRequirements } from '../../../api/label-requirement.ts';
import { compileFields, parseFieldSelector, parseLabelSelector } from '../../../api/selectors.ts';
import { badRequest, notFound } from '../../../api/status/api-status-error.ts';
import type { Registry, ResourceRequest, Served } from '../../registry/registry.ts';

/** A component of the control plane. `check` rejects with the problem. */
export interface Component {
  readonly name: string;
  readonly check: () => Promise<void>;
}

/** A registry that also serves ComponentStatus by checking the components at each request. */
export function componentRegistry(registry: Registry, components: readonly Component[]): Registry {
  const isStatus = ({ definition }: ResourceRequest): boolean => definition.type === componentStatuses;
  return {
    get: async (request, options) => {
      if (!isStatus(request)) return registry.get(request, options);
      const found = components.find(({ name }) => name === request.name);
      // Upstream's error contains the singular.
      if (found === undefined) throw notFound({ group: '', plural: 'componentstatus' }, request.name);
      return served(await statusOf(found));
    },
    list: async (request, options) =>
      isStatus(request)
        ? { items: (await select(components, options)).map(served), resourceVersion: '' }
        : registry.list(request, options),
    watch: (request, options, sink) => registry.watch(request, options, sink),
    create: (request, body) => registry.create(request, body),
    update: (request, body) => registry.update(request, body),
    patch: (request, patch) => registry.patch(request, patch),
    delete: (request, options) => registry.delete(request, options),
    deleteCollection: (request, selection, options) => registry.deleteCollection(request, selection, options),
  };
}

async function select(
  components: readonly Component[],
  { labelSelector = '', fieldSelector = '' }: ListOptions,
): Promise<ComponentStatus[]> {
  const labels = parseLabelSelector(labelSelector);
  const fields = parseFieldSelector(fieldSelector);
  if (typeof labels === 'string') throw badRequest(labels);
  if (typeof fields === 'string') throw badRequest(fields);
  const [labelled, holds] = [compileRequirements(labels), compileFields(fields)];
  const chosen = components.filter(
    ({ name }) => labelled.matches({}) && holds({ 'metadata.name': name, 'metadata.namespace': '' }),
  );
  return Promise.all(chosen.map(statusOf));
}

async function statusOf({ name, check }: Component): Promise<ComponentStatus> {
  const head = { kind: 'ComponentStatus', apiVersion: 'v1', metadata: { name, namespace: '', uid: '' } };
  try {
    await check();
    return { ...head, conditions: [{ type: 'Healthy', status: 'True', message: 'ok' }] };
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    return { ...head, conditions: [{ type: 'Healthy', status: 'False', error: text }] };
  }
}

function served(object: ComponentStatus): Served {
  const { name } = object.metadata;
  return { object, json: JSON.stringify({ ...object, metadata: { name } }) };
}
