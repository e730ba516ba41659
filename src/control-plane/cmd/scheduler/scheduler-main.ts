/** `bin/kubelet-scheduler`: the scheduler as a separate process, in the cluster of a kubeconfig. */
import { hostname } from 'node:os';
import { createInformers } from '../../../api/client/informer.ts';
import { systemClock } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Program } from '../../../base/process-faults.ts';
import { systemRandom } from '../../../base/random.ts';
import { runMain } from '../../../base/run-main.ts';
import { HttpApiClient } from '../../../client/http-api-client.ts';
import { HttpTransport } from '../../../client/http-transport.ts';
import { KubeconfigSource } from '../../../client/kubeconfig-source.ts';
import { createLeaderElection } from '../../controller-runtime/leader-election.ts';
import type { LeadingPart } from '../../controller-runtime/leader-election.ts';
import type { SchedulerConfig } from '../../scheduler/config/scheduler-config.ts';
import { createScheduler } from '../../scheduler/scheduler.ts';
import { askExtender } from './ask-extender.ts';
import { readSchedulerFiles } from '../configuration/read-scheduler-files.ts';
import { parseSchedulerFlags, SCHEDULER_USAGE } from './scheduler-flags.ts';
import type { SchedulerOptions } from './scheduler-flags.ts';
import { SchedulerPages, servePages } from './scheduler-pages.ts';

/** The number of connections that concurrent binds would use over HTTP/1. */
const MAX_SOCKETS = 32;

function createProgram(options: SchedulerOptions, log: Logger): Program {
  let stop = async (): Promise<void> => {};
  return {
    start: async () => {
      const read = await readSchedulerFiles('config', options.files, { log }, options.schedulerName);
      const config = renamed(read, options);
      const file =
        options.kubeconfig ??
        config.kubeconfig ??
        process.env['KUBECONFIG'] ??
        `${process.env['HOME'] ?? ''}/.kube/config`;
      const transport = new HttpTransport(new KubeconfigSource(file), {
        userAgent: 'kube-scheduler',
        maxSockets: MAX_SOCKETS,
      });
      const shown = new SchedulerPages(config);
      const part = composeScheduling(config, new HttpApiClient(transport), shown, log);
      const { serving } = options;
      const deps = { transport, clock: systemClock, log };
      const unserve = serving === undefined ? undefined : await servePages(serving, { ...deps, pages: shown.pages });
      stop = async () => {
        await part.stop();
        await unserve?.();
        transport.close();
      };
      await part.start();
      log.info('scheduling', {
        names: [...config.profiles.keys()],
        lease: config.election.enabled ? config.election.name : '',
      });
    },
    stop: () => stop(),
  };
}

/** With the values of the flags. */
function renamed(config: SchedulerConfig, { schedulerName, election }: SchedulerOptions): SchedulerConfig {
  const merged = { ...config.election, ...election };
  if (merged.enabled && (merged.leaseMs <= merged.renewMs || merged.renewMs <= merged.retryMs))
    throw new KubeletError(
      'Invalid',
      'leader election: the lease duration must be greater than the renew deadline, and that greater than the retry period',
    );
  const profiles =
    schedulerName === undefined
      ? config.profiles
      : new Map([...config.profiles.values()].map((profile) => [schedulerName, { ...profile, schedulerName }]));
  return { ...config, profiles, election: merged };
}

function composeScheduling(
  config: SchedulerConfig,
  client: HttpApiClient,
  shown: SchedulerPages,
  log: Logger,
): LeadingPart {
  const deps = { client, clock: systemClock, random: systemRandom, log };
  const create = (): LeadingPart => {
    const informers = createInformers({ ...deps, startsAt: 'newest' });
    const scheduler = createScheduler({ ...deps, informers, config, askExtender, metrics: shown.figures });
    return {
      start: () => {
        informers.start();
        scheduler.start();
        shown.show(scheduler);
      },
      stop: async () => {
        shown.show(undefined);
        await scheduler.stop();
        await informers.stop();
      },
    };
  };
  const { enabled, name, namespace, ...timing } = config.election;
  if (!enabled) return create();
  return createLeaderElection({
    ...deps,
    ...{ name, namespace, timing, create },
    identity: `${hostname()}_${systemRandom.uuid()}`,
  });
}

void runMain(process, {
  name: 'kubelet-scheduler',
  logName: 'scheduler',
  usage: SCHEDULER_USAGE,
  parse: parseSchedulerFlags,
  create: createProgram,
});
