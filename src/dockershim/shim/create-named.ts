import { isKind, KubeletError } from '../../base/errors.ts';
import type { DockerEngine } from '../engine/docker-engine.ts';
import type { CreateContainerBody } from '../engine/docker-types.ts';

/**
 * Creates a container with this name. Rejects with `AlreadyExists`, with the text of other runtimes, when the name is
 * taken. The name may be taken by an earlier call whose answer was lost; the kubelet then finds that container in its
 * lists.
 */
export async function createNamed(
  engine: DockerEngine,
  name: string,
  body: CreateContainerBody,
  signal?: AbortSignal,
): Promise<string> {
  try {
    return await engine.createContainer(name, body, { signal });
  } catch (error) {
    if (!isKind(error, 'Conflict')) throw error;
    const id = await idOf(engine, name, signal);
    // The other container was removed meanwhile. The next try may get the name.
    if (id === undefined) throw error;
    throw new KubeletError('AlreadyExists', `failed to reserve name "${name}": it is reserved for "${id}"`, {
      cause: error,
    });
  }
}

async function idOf(engine: DockerEngine, name: string, signal: AbortSignal | undefined): Promise<string | undefined> {
  try {
    return (await engine.inspectContainer(name, { signal })).Id;
  } catch (error) {
    if (isKind(error, 'NotFound')) return undefined;
    throw error;
  }
}
