import { errorMessage } from '../../../base/errors.ts';
import type { ApiBackend, ApiBackends } from '../../model/api-backends.ts';
import type { UserInfo } from '../../model/user-info.ts';
import { askBackend, BackendRefusal } from './ask-backend.ts';
import type { AskBackendParts } from './ask-backend.ts';

export interface BackendApisParts extends AskBackendParts {
  readonly backends: Pick<ApiBackends, 'find' | 'all'>;
}

interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

interface NamespacedResource extends GroupVersion {
  readonly plural: string;
  readonly verbs: readonly string[];
}

/** The APIs behind APIServices for callers in this process. The servers authorize `user`. */
export function backendApis({ backends, ...parts }: BackendApisParts, user: UserInfo) {
  const send = async ({ group, version }: GroupVersion, path: string, method: 'GET' | 'DELETE'): Promise<string> => {
    const backend = backends.find(group, version);
    if (backend === undefined) throw new Error('the server could not find the requested resource');
    if (!backend.isAvailable) throw new Error('the server is currently unable to handle the request');
    try {
      return await askBackend(parts, backend, path, { user, method });
    } catch (error) {
      throw new Error(refusalOf(error), { cause: error });
    }
  };
  return {
    versionOf: (group: string, versions: readonly string[]): string | undefined =>
      versions.find((version) => backends.find(group, version) !== undefined),
    get: async (api: GroupVersion, path: string): Promise<unknown> => {
      const text = await send(api, path, 'GET');
      try {
        return JSON.parse(text) as unknown;
      } catch (error) {
        throw new Error(errorMessage(error), { cause: error });
      }
    },
    delete: async (api: GroupVersion, path: string): Promise<void> => void (await send(api, path, 'DELETE')),
    resources: () => ({
      namespaced: namespacedResources(backends.all),
      unavailable: backends.all
        .filter(({ isAvailable }) => !isAvailable)
        .map(({ group, version }) => `${group}/${version}`)
        .sort(),
    }),
  };
}

/** Each resource once, in the version with the highest priority. */
function namespacedResources(all: readonly ApiBackend[]): readonly NamespacedResource[] {
  const found = new Map<string, NamespacedResource>();
  const ordered = all
    .filter(({ isAvailable }) => isAvailable)
    .toSorted((left, right) => right.versionPriority - left.versionPriority);
  for (const { group, version, resources = [] } of ordered)
    for (const { name, namespaced, verbs } of resources) {
      const key = `${group}/${name}`;
      if (namespaced && !name.includes('/') && !found.has(key)) found.set(key, { group, version, plural: name, verbs });
    }
  return [...found.values()];
}

/** The message of the server's Status, or of the error if the body is no Status. */
function refusalOf(error: unknown): string {
  const why = error instanceof Error ? error : new Error(String(error));
  if (!(why.cause instanceof BackendRefusal)) return why.message;
  try {
    const status = JSON.parse(why.cause.body) as { readonly message?: unknown } | null;
    return typeof status?.message === 'string' && status.message !== '' ? status.message : why.message;
  } catch {
    return why.message;
  }
}
