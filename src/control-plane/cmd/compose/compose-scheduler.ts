import type { Informers } from '../../../api/client/informer.ts';
import type { UserInfo } from '../../model/user-info.ts';
import type { SchedulerConfig } from '../../scheduler/config/scheduler-config.ts';
import { createScheduler } from '../../scheduler/scheduler.ts';
import type { Scheduler } from '../../scheduler/scheduler.ts';
import { askExtender } from '../scheduler/ask-extender.ts';
import type { BaseDeps } from './base-deps.ts';
import type { ComposedApiServer } from './compose-api-server.ts';

const user: UserInfo = { name: 'system:kube-scheduler', groups: ['system:authenticated'] };

export function composeScheduler(
  config: SchedulerConfig,
  api: ComposedApiServer,
  informers: Informers,
  deps: BaseDeps,
): Scheduler {
  const { schedulingFigures, claimMetrics } = api.server;
  const scheduler = createScheduler({
    ...deps,
    informers,
    client: api.clientOf(user, 'kube-scheduler'),
    claimMetrics,
    metrics: schedulingFigures,
    config,
    askExtender,
  });
  schedulingFigures.countWith(() => scheduler.counts());
  return scheduler;
}
