import { isKind, KubeletError } from '../../../base/errors.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { Processes } from '../../ports/processes.ts';
import type { IdRange } from './id-pool.ts';
import { parseSubIds } from './id-pool.ts';

const USER = 'kubelet';
const limits = { timeoutMs: 10_000, outputLimitBytes: 64 * 1024 };

/**
 * Reads the ids that the operator assigned to the user `kubelet`; undefined if there is no such user, or no tool to
 * read them (upstream: getKubeletMappings). If the user exists and the tool returns nothing, that is an error, because
 * the source of subordinate ids may be remote and unavailable.
 */
export async function assignedIds({
  files,
  processes,
}: {
  files: Pick<HostFiles, 'readText'>;
  processes: Processes;
}): Promise<IdRange | undefined> {
  if (!(await userExists(files, processes))) return undefined;
  const uids = await getsubids(processes, [USER], 'uids');
  if (uids === undefined) return undefined;
  const gids = await getsubids(processes, ['-g', USER], 'gids');
  if (uids !== gids) throw failed(`mismatched subuids and subgids for user ${JSON.stringify(USER)}`);
  try {
    return parseSubIds(uids);
  } catch (error) {
    throw failed(error instanceof Error ? error.message : String(error));
  }
}

/**
 * Whether the user exists. It reads the file first, so that most nodes run no program, and then asks all other sources
 * of users on the system.
 */
async function userExists(files: Pick<HostFiles, 'readText'>, processes: Processes): Promise<boolean> {
  try {
    if ((await files.readText('/etc/passwd')).split('\n').some((line) => line.startsWith(`${USER}:`))) return true;
  } catch (error) {
    if (!isKind(error, 'NotFound')) throw error;
  }
  try {
    return (await processes.run('getent', ['passwd', USER], limits)).exitCode === 0;
  } catch (error) {
    if (isKind(error, 'NotFound')) return false;
    throw error;
  }
}

async function getsubids(
  processes: Processes,
  args: readonly string[],
  what: 'uids' | 'gids',
): Promise<string | undefined> {
  try {
    const { exitCode, stdout } = await processes.run('getsubids', args, limits);
    if (exitCode === 0) return stdout;
    throw failed(`error retrieving additional ${what} for user ${JSON.stringify(USER)}: exit status ${exitCode}`);
  } catch (error) {
    if (isKind(error, 'NotFound')) return undefined;
    throw error;
  }
}

function failed(why: string): KubeletError {
  return new KubeletError('Invalid', `create user namespace manager: kubelet mappings: ${why}`, { op: 'getsubids' });
}
