import type { ApiBackends } from '../../model/api-backends.ts';
import type { UserInfo } from '../../model/user-info.ts';
import { askBackend, BackendRefusal } from './ask-backend.ts';
import type { AskBackendParts } from './ask-backend.ts';

export interface BackendApisParts extends AskBackendParts {
  readonly backends: Pick<ApiBackends, 'find'>;
}

/** The APIs behind APIServices for callers in this process. The servers authorize `user`. */
export function backendApis({ backends, ...parts }: BackendApisParts, user: UserInfo) {
  return {
    versionOf: (group: string, versions: readonly string[]): string | undefined =>
      versions.find((version) => backends.find(group, version) !== undefined),
    get: async ({ group, version }: { readonly group: string; readonly version: string }, path: string) => {
      const backend = backends.find(group, version);
      if (backend === undefined) throw new Error('the server could not find the requested resource');
      if (!backend.isAvailable) throw new Error('the server is currently unable to handle the request');
      try {
        return JSON.parse(await askBackend(parts, backend, path, user)) as unknown;
      } catch (error) {
        throw new Error(refusalOf(error), { cause: error });
      }
    },
  };
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
