import { buildNode } from './builders.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { seededRandom } from '../../../base/random.ts';
import { createInformers } from '../../../api/client/informer.ts';
import type { Informers } from '../../../api/client/informer.ts';
import { events, nodes, pods } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { defaultSchedulerConfig } from '../config/scheduler-config.ts';
import type { SchedulerConfig } from '../config/scheduler-config.ts';
import type { AskExtender } from '../framework/extender.ts';
import { createScheduler } from '../scheduler.ts';
import type { Scheduler } from '../scheduler.ts';

export interface SchedulerWorldOptions {
  readonly seed?: number;
  readonly lagMs?: number;
  readonly config?: SchedulerConfig;
  readonly askExtender?: AskExtender;
}

/** The whole scheduler on an in-memory API server in virtual time. */
export class SchedulerWorld {
  readonly clock = new FakeClock();
  readonly log = recordingLog();
  readonly api: FakeApiClient;
  readonly #options: SchedulerWorldOptions;
  #running: { readonly informers: Informers; readonly scheduler: Scheduler } | undefined;

  constructor(options: SchedulerWorldOptions = {}) {
    this.#options = options;
    const random = seededRandom(options.seed ?? 1);
    this.api = new FakeApiClient({ clock: this.clock, random, watchLagMs: () => random.next() * (options.lagMs ?? 0) });
  }

  get scheduler(): Scheduler {
    if (this.#running === undefined) throw new Error('not started');
    return this.#running.scheduler;
  }

  async start(): Promise<void> {
    const { clock, log, api: client } = this;
    const random = seededRandom((this.#options.seed ?? 1) + 1);
    const informers = createInformers({ client, clock, random, log });
    const scheduler = createScheduler({
      client,
      informers,
      clock,
      random,
      log,
      config: this.#options.config ?? defaultSchedulerConfig(),
      ...(this.#options.askExtender !== undefined && { askExtender: this.#options.askExtender }),
    });
    this.#running = { informers, scheduler };
    informers.start();
    scheduler.start();
    await this.run(10);
  }

  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    if (running === undefined) return;
    const stopped = Promise.all([running.scheduler.stop(), running.informers.stop()]);
    await this.clock.advance(60_000);
    await stopped;
  }

  run(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }

  addNode(node: Node): void {
    this.api.seed(nodes, node);
  }

  addPod(pod: Pod): void {
    this.api.seed(pods, pod);
  }

  pod(name: string): Pod | undefined {
    return this.api.peek(pods, { namespace: 'default', name });
  }

  nodeOf(name: string): string | undefined {
    return this.pod(name)?.spec.nodeName;
  }

  condition(name: string): string | undefined {
    const condition = this.pod(name)?.status?.conditions?.find(({ type }) => type === 'PodScheduled');
    return condition === undefined
      ? undefined
      : `${condition.status} ${condition.reason ?? ''}: ${condition.message ?? ''}`;
  }

  get events(): readonly string[] {
    return this.api
      .all(events)
      .map(({ involvedObject, type, reason, message }) => `${involvedObject.name} ${type} ${reason}: ${message}`);
  }
}

/** Starts a scheduler with these nodes. */
export async function started(
  options: SchedulerWorldOptions = {},
  ...names: readonly string[]
): Promise<SchedulerWorld> {
  const world = new SchedulerWorld(options);
  for (const name of names) world.addNode(buildNode(name));
  await world.start();
  return world;
}
