import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { modulesNamedIn } from '../../scheduler/config/profile-modules.ts';
import type { LoadedModules } from '../../scheduler/config/profile-modules.ts';
import { defaultSchedulerConfig, readSchedulerConfig } from '../../scheduler/config/scheduler-config.ts';
import type { SchedulerConfig } from '../../scheduler/config/scheduler-config.ts';
import { readPolicy } from '../../scheduler/policy/read-policy.ts';
import type { SchedulerFiles } from '../flags/control-plane-options.ts';
import { readYamlFile } from './read-yaml-file.ts';

/** The flags of the two files. */
export type ConfigFlag = 'scheduler-config' | 'config';

/** Reads the scheduler's configuration file and the modules that it names. Throws `Invalid`. */
export async function readSchedulerFiles(
  flag: ConfigFlag,
  { configFile, policyFile }: SchedulerFiles,
  { log }: { readonly log: Logger },
  schedulerName?: string,
): Promise<SchedulerConfig> {
  const file = configFile ?? policyFile;
  if (file === undefined) return defaultSchedulerConfig();
  const named = configFile === undefined ? 'policy-config-file' : flag;
  const input = await readYamlFile(named, file, 'refused');
  const read =
    configFile === undefined
      ? readPolicy(input, schedulerName)
      : readSchedulerConfig(input, await loadModules(named, file, modulesNamedIn(input), log));
  if ('errors' in read) throw new KubeletError('Invalid', `--${named} ${file}: ${read.errors.join('; ')}`);
  return read.config;
}

/** Paths are relative to the configuration. */
async function loadModules(flag: string, file: string, names: readonly string[], log: Logger): Promise<LoadedModules> {
  const factories = new Map<string, unknown>();
  for (const name of names) {
    const url = pathToFileURL(path.resolve(path.dirname(file), name)).href;
    try {
      const module = (await import(url)) as { readonly default?: unknown };
      factories.set(name, module.default);
    } catch (error) {
      throw new KubeletError(
        'Invalid',
        `--${flag} ${file}: the module ${name} cannot be loaded: ${errorMessage(error)}`,
        {
          cause: error,
        },
      );
    }
  }
  return { factories, log: (plugin, message) => log.info('Scheduler plugin', { plugin, message }) };
}
