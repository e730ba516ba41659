import { errorMessage, isKind } from '../../../../base/errors.ts';
import type { Logger } from '../../../../base/log.ts';
import type { HostFiles } from '../../../ports/host-files.ts';
import { parseDockerConfig } from './docker-config.ts';
import { Keyring } from './keyring.ts';

/** The limit of a file. Upstream has the same limit for a fetched configuration. */
const LIMIT_BYTES = 10 * 1024 * 1024;

export interface NodeCredentialPlaces {
  readonly rootDir: string;
  readonly workingDir: string;
  readonly homeDir: string;
}

/**
 * Returns the paths in upstream's search order: every config.json before any .dockercfg (credentialprovider/config.go).
 */
function nodeCredentialPaths({
  rootDir,
  workingDir,
  homeDir,
}: NodeCredentialPlaces): readonly { path: string; legacy: boolean }[] {
  const home = homeDir === '/' ? '' : homeDir;
  const modern = [rootDir, workingDir, `${home}/.docker`, '/.docker'].map((folder) => ({
    path: `${folder === '/' ? '' : folder}/config.json`,
    legacy: false,
  }));
  const legacy = [rootDir, workingDir, homeDir, '/'].map((folder) => ({
    path: `${folder === '/' ? '' : folder}/.dockercfg`,
    legacy: true,
  }));
  return [...modern, ...legacy];
}

/**
 * Reads the node's own credentials from the first file that can be read. They are read for each pull, so that a change
 * takes effect immediately.
 */
export async function readNodeCredentials(
  places: NodeCredentialPlaces,
  files: HostFiles,
  log: Logger,
): Promise<Keyring> {
  const keyring = new Keyring();
  for (const { path, legacy } of nodeCredentialPaths(places)) {
    let text: string;
    try {
      text = await files.readText(path, LIMIT_BYTES);
    } catch (error) {
      if (!isKind(error, 'NotFound'))
        log.warn('registry credentials of the node cannot be read', { path, error: errorMessage(error) });
      continue;
    }
    const { config, problems } = parseDockerConfig(text, legacy);
    for (const problem of problems)
      log.warn('registry credentials of the node cannot be used in full', { path, problem });
    if (problems.length > 0 && Object.keys(config).length === 0) continue;
    keyring.add(config, undefined);
    return keyring;
  }
  return keyring;
}
