import type { ListedSandbox } from '../../../model/runtime-status.ts';
import type { ErrorKind } from '../../../../base/errors.ts';
import type { CallOptions, ContainerRuntime, Listed } from '../../../ports/runtime.ts';
import type { PodUid, SandboxId } from '../../../model/ids.ts';

/**
 * Whether a failed create may have taken effect, or met the name of an earlier one that did. Runtimes report a reserved
 * name with different codes. So every failure except a plain refusal is checked; that costs one list call.
 */
export function mayExistAfter(kind: ErrorKind): boolean {
  switch (kind) {
    case 'Timeout':
    case 'AlreadyExists':
    case 'Conflict':
    case 'Internal':
    case 'Unavailable':
      return true;
    case 'Invalid':
    case 'NotFound':
    case 'Unimplemented':
    case 'Aborted':
      return false;
  }
}

/** Whether the name is known to be taken, so that the next attempt number helps. */
export function isNameTaken(kind: ErrorKind, message: string): boolean {
  // This is the only place that parses a message: containerd answers with code Unknown here, and nothing else
  // distinguishes this failure from others.
  return (
    kind === 'AlreadyExists' || (kind === 'Internal' && /name .* is reserved|name .* is already in use/.test(message))
  );
}

export async function findContainerOf(
  runtime: ContainerRuntime,
  wanted: { uid: PodUid; name: string; attempt: number },
  options: CallOptions,
): Promise<Listed | undefined> {
  const listed = await runtime.listContainers({ podUid: wanted.uid }, options);
  return listed.find((candidate) => candidate.name === wanted.name && candidate.attempt === wanted.attempt);
}

export async function findSandboxOf(
  runtime: ContainerRuntime,
  wanted: { uid: PodUid; attempt: number },
  options: CallOptions,
): Promise<ListedSandbox | undefined> {
  const listed = await runtime.listSandboxes({ podUid: wanted.uid }, options);
  return listed.find((candidate) => candidate.attempt === wanted.attempt);
}

/** Decides what to do about a container found under the wanted name. */
export function computeAdoption(
  found: Pick<Listed, 'state' | 'sandboxId'>,
  sandbox: SandboxId,
): 'start' | 'take' | 'remove' {
  if (found.sandboxId !== sandbox) return found.state === 'running' ? 'take' : 'remove';
  if (found.state === 'created') return 'start';
  return found.state === 'running' ? 'take' : 'remove';
}
