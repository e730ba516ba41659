import path from 'node:path';
import { readAdmissionConfiguration } from '../../admission/configuration/admission-configuration.ts';
import { readEventRateLimitConfiguration } from '../../admission/event-rate-limit.ts';
import type { EventLimit } from '../../admission/event-rate-limit.ts';
import { knownPlugins } from '../../admission/plugin-names.ts';
import { podSecurityDefaults } from '../../admission/pod-security/pod-security.ts';
import type { PodSecuritySettings } from '../../admission/pod-security/pod-security.ts';
import { readPodSecurityConfiguration } from '../../admission/pod-security/pod-security-configuration.ts';
import type { LimitedResource } from '../../admission/resource-quota/charge-quotas.ts';
import { readResourceQuotaConfiguration } from '../../admission/resource-quota/resource-quota-configuration.ts';
import { KubeletError } from '../../../base/errors.ts';
import { readYamlFile } from './read-yaml-file.ts';

/** Plugin settings from `--admission-control-config-file`. */
export interface AdmissionSettings {
  readonly podSecurity: PodSecuritySettings;
  readonly limitedResources: readonly LimitedResource[];
  readonly eventLimits: readonly EventLimit[] | undefined;
}

/** Reads the file and the files that it names. Throws `Invalid` for an error in any of them. */
export async function readAdmissionSettings(file: string | undefined): Promise<AdmissionSettings> {
  const none: AdmissionSettings = { podSecurity: podSecurityDefaults, limitedResources: [], eventLimits: undefined };
  if (file === undefined) return none;
  const plugins = accepted(file, readAdmissionConfiguration(await readYaml(file)));
  const configurationOf = async (
    name: string,
  ): Promise<{ readonly from: string; readonly document: unknown } | undefined> => {
    const found = plugins.find((each) => each.name === name);
    if (found === undefined) return undefined;
    if (found.configuration !== undefined && found.configuration !== null)
      return { from: `${file}: ${name}`, document: found.configuration };
    if (found.path === undefined) return undefined;
    const own = path.resolve(path.dirname(file), found.path);
    return { from: own, document: await readYaml(own) };
  };
  const unknown = plugins.filter(({ name }) => !knownPlugins.some((each) => each.name === name));
  if (unknown.length > 0)
    throw new KubeletError(
      'Invalid',
      `--admission-control-config-file ${file}: there is no admission plugin ${unknown.map(({ name }) => JSON.stringify(name)).join(', ')}`,
    );
  const read = async <T>(name: string, parse: (document: unknown) => T | string): Promise<T | undefined> => {
    const found = await configurationOf(name);
    return found === undefined ? undefined : accepted(found.from, parse(found.document));
  };
  return {
    podSecurity: (await read('PodSecurity', readPodSecurityConfiguration)) ?? none.podSecurity,
    limitedResources: (await read('ResourceQuota', readResourceQuotaConfiguration)) ?? none.limitedResources,
    eventLimits: await read('EventRateLimit', readEventRateLimitConfiguration),
  };
}

const readYaml = (file: string): Promise<unknown> => readYamlFile('admission-control-config-file', file, 'refused');

function accepted<T>(from: string, read: T | string): T {
  if (typeof read === 'string') throw new KubeletError('Invalid', `--admission-control-config-file ${from}: ${read}`);
  return read;
}
