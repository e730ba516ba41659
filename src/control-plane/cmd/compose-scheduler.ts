import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import type { Informers } from '../../api/client/informer.ts';
import { KubeletError } from '../../base/errors.ts';
import type { UserInfo } from '../model/user-info.ts';
import { defaultSchedulerConfig, readSchedulerConfig } from '../scheduler/config/scheduler-config.ts';
import type { SchedulerConfig } from '../scheduler/config/scheduler-config.ts';
import { createScheduler } from '../scheduler/scheduler.ts';
import type { Scheduler } from '../scheduler/scheduler.ts';
import type { BaseDeps } from './base-deps.ts';
import type { ComposedApiServer } from './compose-api-server.ts';
import type { ControlPlaneOptions } from './control-plane-options.ts';

const user: UserInfo = { name: 'system:kube-scheduler', groups: ['system:authenticated'] };

export function composeScheduler(
  { scheduler }: ControlPlaneOptions,
  api: ComposedApiServer,
  informers: Informers,
  deps: BaseDeps,
): Scheduler {
  return createScheduler({
    ...deps,
    informers,
    client: api.clientOf(user, 'kube-scheduler'),
    claimMetrics: api.server.claimMetrics,
    config: configOf(scheduler.configFile),
  });
}

function configOf(file: string | undefined): SchedulerConfig {
  if (file === undefined) return defaultSchedulerConfig();
  const read = readSchedulerConfig(parse(readFileSync(file, 'utf8')) as unknown);
  if ('errors' in read) throw new KubeletError('Invalid', `--scheduler-config ${file}: ${read.errors.join('; ')}`);
  return read.config;
}
