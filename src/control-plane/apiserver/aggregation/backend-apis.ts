import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { errorMessage } from '../../../base/errors.ts';
import { isRecord } from '../../../base/json-record.ts';
import type { ApiBackend, ApiBackends, BackendResource } from '../../model/api-backends.ts';
import type { UserInfo } from '../../model/user-info.ts';
import { askBackend, BackendRefusal } from './ask-backend.ts';
import type { AskBackendParts, BackendQuestion } from './ask-backend.ts';
import { ACCEPT_METADATA_LIST } from './metadata-forms.ts';

export interface BackendApisParts extends AskBackendParts {
  readonly backends: Pick<ApiBackends, 'find' | 'all' | 'onChange'>;
}

export interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

interface NamespacedResource extends GroupVersion {
  readonly plural: string;
  readonly verbs: readonly string[];
}

interface CollectableKind extends NamespacedResource {
  readonly kind: string;
  readonly namespaced: boolean;
}

/** The APIs behind APIServices for callers in this process. The servers authorize `user`. */
export function backendApis({ backends, ...parts }: BackendApisParts, user: UserInfo) {
  const send = async (
    { group, version }: GroupVersion,
    path: string,
    question: Pick<BackendQuestion, 'method' | 'accept'>,
  ): Promise<string> => {
    const backend = backends.find(group, version);
    if (backend === undefined) throw new Error('the server could not find the requested resource');
    if (!backend.isAvailable) throw new Error('the server is currently unable to handle the request');
    try {
      return await askBackend(parts, backend, path, { ...question, user });
    } catch (error) {
      throw refusalOf(error);
    }
  };
  return {
    versionOf: (group: string, versions: readonly string[]): string | undefined =>
      versions.find((version) => backends.find(group, version) !== undefined),
    get: async (api: GroupVersion, path: string, form?: 'list of metadata'): Promise<unknown> => {
      const text = await send(api, path, form === undefined ? {} : { accept: ACCEPT_METADATA_LIST });
      try {
        return JSON.parse(text) as unknown;
      } catch (error) {
        throw new Error(errorMessage(error), { cause: error });
      }
    },
    delete: async (api: GroupVersion, path: string): Promise<void> =>
      void (await send(api, path, { method: 'DELETE' })),
    find: (group: string, kind: string): (NamespacedResource & { readonly namespaced: boolean }) | undefined => {
      for (const backend of byPriority(backends.all)) {
        const { version, resources = [] } = backend;
        const found =
          backend.group === group ? resources.find((each) => each.kind === kind && isWhole(each)) : undefined;
        if (found !== undefined)
          return { group, version, plural: found.name, verbs: found.verbs, namespaced: found.namespaced };
      }
      return undefined;
    },
    collectable: (): readonly CollectableKind[] => collectableKinds(backends.all),
    undiscovered: (): readonly string[] =>
      backends.all.filter(({ resources }) => resources === undefined).map(groupVersionOf),
    onChange: (listener: () => void): (() => void) => backends.onChange(listener),
    resources: () => ({
      namespaced: namespacedResources(backends.all),
      unavailable: backends.all
        .filter(({ isAvailable }) => !isAvailable)
        .map(groupVersionOf)
        .sort(),
    }),
  };
}

const groupVersionOf = ({ group, version }: GroupVersion): string => `${group}/${version}`;

const isWhole = ({ name }: BackendResource): boolean => !name.includes('/');

const byPriority = (all: readonly ApiBackend[]): readonly ApiBackend[] =>
  all.toSorted((left, right) => right.versionPriority - left.versionPriority);

/** Each resource once, in the version with the highest priority. */
function namespacedResources(all: readonly ApiBackend[]): readonly NamespacedResource[] {
  const found = new Map<string, NamespacedResource>();
  for (const { group, version, resources = [] } of byPriority(all.filter(({ isAvailable }) => isAvailable)))
    for (const resource of resources) {
      const { name, namespaced, verbs } = resource;
      const key = `${group}/${name}`;
      if (namespaced && isWhole(resource) && !found.has(key)) found.set(key, { group, version, plural: name, verbs });
    }
  return [...found.values()];
}

/**
 * Each resource once, in the version with the highest priority, whose objects can be listed, watched and deleted
 * (upstream: garbagecollector GetDeletableResources). Those of unavailable servers are included.
 */
function collectableKinds(all: readonly ApiBackend[]): readonly CollectableKind[] {
  const found = new Map<string, CollectableKind>();
  for (const { group, version, resources = [] } of byPriority(all))
    for (const resource of resources) {
      const { name, namespaced, verbs, kind } = resource;
      const key = `${group}/${name}`;
      if (isWhole(resource) && !found.has(key) && ['delete', 'list', 'watch'].every((each) => verbs.includes(each)))
        found.set(key, { group, version, kind, plural: name, verbs, namespaced });
    }
  return [...found.values()];
}

/**
 * An error with the message of the server's Status, or of the error if the body is no Status. NotFound only about an
 * object that the Status names: a path that the server does not serve says nothing about objects.
 */
function refusalOf(error: unknown): Error {
  const why = error instanceof Error ? error : new Error(String(error));
  const status = why.cause instanceof BackendRefusal ? parsed(why.cause.body) : undefined;
  if (!isRecord(status) || typeof status['message'] !== 'string' || status['message'] === '')
    return new Error(why.message, { cause: error });
  const { message, reason, details } = status;
  const name = isRecord(details) && typeof details['name'] === 'string' ? details['name'] : '';
  return reason === 'NotFound' && name !== ''
    ? new ApiStatusError('NotFound', message, { name }, { cause: error })
    : new Error(message, { cause: error });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
