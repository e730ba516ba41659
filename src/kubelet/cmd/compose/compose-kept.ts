import type { ApiObject } from '../../../api/client/resource-type.ts';
import { KeptObjects } from '../../features/cluster-objects/kept-objects.ts';
import { StateFolder } from '../../features/state/state-folder.ts';
import { isKeptToken, type KeptToken } from '../../features/tokens/service-account-tokens.ts';
import type { World } from './world.ts';

/** What pods of this node need of the API server, on disk, so that a node that starts while it is away brings them back. */
export interface Kept {
  objects: KeptObjects;
  tokens: { folder: StateFolder; left: ReadonlyMap<string, KeptToken> };
  flush(): Promise<void>;
}

/** Secrets and tokens lie there: the folders are root's alone. */
export async function openKept(
  stateDir: string,
  { files, clock, log }: Pick<World, 'files' | 'clock' | 'log'>,
): Promise<Kept> {
  const at = (name: string) => ({ path: `${stateDir}/${name}`, files, clock, log });
  const [objects, tokens] = [at('objects'), at('tokens')];
  const [leftObjects, leftTokens] = await Promise.all([
    StateFolder.load(objects, isObject),
    StateFolder.load(tokens, isKeptToken),
  ]);
  const [objectFolder, tokenFolder] = [new StateFolder(objects), new StateFolder(tokens)];
  return {
    objects: new KeptObjects(objectFolder, leftObjects),
    tokens: { folder: tokenFolder, left: leftTokens },
    flush: async () => {
      await Promise.all([objectFolder.flush(), tokenFolder.flush()]);
    },
  };
}

function isObject(value: unknown): value is ApiObject {
  if (typeof value !== 'object' || value === null || !('metadata' in value)) return false;
  const { metadata } = value;
  return (
    typeof metadata === 'object' &&
    metadata !== null &&
    'name' in metadata &&
    typeof metadata.name === 'string' &&
    'namespace' in metadata &&
    typeof metadata.namespace === 'string'
  );
}
