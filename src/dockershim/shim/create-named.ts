import { isKind, KubeletError } from '../../base/errors.ts';
import type { DockerEngine } from '../engine/docker-engine.ts';
import type { CreateContainerBody } from '../engine/docker-types.ts';
import { labelKeys } from '../plan/docker-labels.ts';

/**
 * Creates a container by its name. A call whose answer was lost leaves a container that never started: it gives its
 * name back. `AlreadyExists`: the name belongs to a container that ran or that the shim did not make.
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
    if (!(await isNeverStarted(engine, name, signal)))
      throw new KubeletError('AlreadyExists', `a container with the name ${name} exists`, { cause: error });
    await engine.removeContainer(name, { signal });
    return engine.createContainer(name, body, { signal });
  }
}

async function isNeverStarted(engine: DockerEngine, name: string, signal?: AbortSignal): Promise<boolean> {
  const { State: state, Config: config } = await engine.inspectContainer(name, { signal });
  return state?.Status === 'created' && config?.Labels?.[labelKeys.type] !== undefined;
}
