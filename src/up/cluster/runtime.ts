/** The runtime of a cluster's node: a given one, or our own containerd, which is restarted when it dies. */
import { systemClock, sleep } from '../../base/clock.ts';
import { errorMessage } from '../../base/errors.ts';
import { ensureCgroupRoot } from '../cgroups.ts';
import { launchContainerd, openCri, startOwnContainerd } from '../containerd.ts';
import { ensureImages, readBusybox } from '../image-store.ts';
import { standardImages } from '../images/catalogue.ts';
import type { Instance } from '../instance.ts';
import type { CgroupDriver, ContainerdFacts } from '../runtime-config.ts';
import type { RuntimeHandlers } from '../runtime-handlers.ts';
import { restartDelayMs } from './restart-delay.ts';

export interface RuntimeOptions {
  /** Absent means our own. */
  readonly endpoint: string | undefined;
  readonly cgroupDriver: CgroupDriver;
  readonly runtimeHandlers: RuntimeHandlers;
  readonly network?: 'made' | 'later';
  readonly say: (message: string) => void;
  /** Ends the supervision. */
  readonly signal: AbortSignal;
}

export interface StartedRuntime {
  readonly endpoint: string;
  /** Of our own containerd. */
  readonly facts: ContainerdFacts | undefined;
}

/** After this time it has started successfully. */
const HEALTHY_LIFE_MS = 10_000;

/** Resolves when the images that pods need are present. */
export async function startNodeRuntime(
  instance: Instance,
  { endpoint: given, cgroupDriver, runtimeHandlers, network, say, signal }: RuntimeOptions,
): Promise<StartedRuntime> {
  const endpoint = given ?? `unix://${instance.containerdSocket}`;
  let facts: ContainerdFacts | undefined;
  let [deaths, startMs] = [0, systemClock.monotonicMs()];
  const again = async (how: string): Promise<void> => {
    deaths = systemClock.monotonicMs() - startMs > HEALTHY_LIFE_MS ? 1 : deaths + 1;
    // After a requested end nothing is restarted.
    await sleep(systemClock, restartDelayMs(deaths), signal).catch(() => undefined);
    if (signal.aborted || facts === undefined) return;
    say(
      `containerd ended unexpectedly (${how}): restarting it; containers are not affected. Its log: ${instance.containerdLog}`,
    );
    startMs = systemClock.monotonicMs();
    await launchContainerd(instance, facts, { onEnd, awaitsNetwork: network !== 'later' }).catch((error: unknown) => {
      say(errorMessage(error));
      return again('no start');
    });
  };
  const onEnd = (how: string): void => void again(how);
  if (given === undefined)
    facts = await startOwnContainerd(instance, say, {
      cgroupDriver,
      handlers: runtimeHandlers,
      onEnd,
      ...(network !== undefined && { network }),
    });
  else if (cgroupDriver === 'cgroupfs') ensureCgroupRoot(instance.cgroupRoot);
  const client = openCri(endpoint);
  try {
    await ensureImages(endpoint, client, standardImages(process.arch, await readBusybox()), facts?.snapshotter);
  } finally {
    client.close();
  }
  return { endpoint, facts };
}
