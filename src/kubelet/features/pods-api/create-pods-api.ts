import { errorMessage, KubeletError } from '../../../base/errors.ts';
import { folderPrefix } from '../../../base/folder-path.ts';
import type { Logger } from '../../../base/log.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { PodsApi, PodsApiServer } from '../../ports/pods-api.ts';
import type { PodSource } from './watch-pods.ts';
import { watchPods } from './watch-pods.ts';

export interface CreatePodsApiParts {
  readonly rootDir: string;
  /** The gate PodsAPI. */
  readonly isEnabled: boolean;
  /** The server; absent if the API is not served. */
  readonly server: PodsApiServer | undefined;
  readonly files: Pick<HostFiles, 'makeDirectory' | 'lstat' | 'remove'>;
  readonly source: PodSource;
  /** Called when a watch was ended because its client was too slow. */
  readonly onDropped: () => void;
  readonly log: Logger;
}

export interface PodsApiService {
  /** Serves the API. Never rejects: if it fails, programs on the node cannot use it. */
  start(): Promise<void>;
  stop(): void;
}

const FOLDER_MODE = 0o750;

/** Serves the pods of the node to programs on it, without the API server (upstream: apis/pods). */
export function createPodsApi(parts: CreatePodsApiParts): PodsApiService {
  const { server, files, log } = parts;
  const folder = `${folderPrefix(parts.rootDir)}/pods-api`;
  const path = `${folder}/pods-api.sock`;
  let running: { close(): void } | undefined;
  return {
    start: async () => {
      if (server === undefined || !parts.isEnabled) return;
      try {
        await files.makeDirectory(folder, FOLDER_MODE);
        if ((await files.lstat(path))?.type === 'socket') await files.remove(path);
        running = await server.serve(path, podsApiOf(parts));
      } catch (error) {
        log.error('the Pods API cannot be served', { path, error: errorMessage(error) });
      }
    },
    stop: () => running?.close(),
  };
}

function podsApiOf({ source, onDropped }: Pick<CreatePodsApiParts, 'source' | 'onDropped'>): PodsApi {
  return {
    list: () => source.pods(),
    get: (uid) => {
      const pod = source.pods().find(({ metadata }) => metadata.uid === uid);
      if (pod === undefined) throw new KubeletError('NotFound', `pod with UID ${uid} not found`);
      return pod;
    },
    watch: (signal) => watchPods(source, signal, onDropped),
  };
}
