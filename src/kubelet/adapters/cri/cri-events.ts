import { lookupTable } from '../../../base/lookup.ts';
import { errorKind, KubeletError } from '../../../base/errors.ts';
import type { ContainerdEvent } from '../../../cri/containerd-events-client.ts';
import { subscribeContainerdEvents, CRI_NAMESPACE } from '../../../cri/containerd-events-client.ts';
import type { RuntimeServiceApi } from '../../../cri/cri-api.ts';
import type { GrpcChannel } from '../../../grpc/grpc-channel.ts';
import type { RuntimeEvent, RuntimeEventSource } from '../../ports/runtime.ts';
import { eventFromCri } from './cri-mapping-read.ts';

type Handlers = Parameters<RuntimeEventSource['subscribe']>[0];

/** The time limit of the call that follows a subscription. */
const PROBE_TIMEOUT_MS = 5000;

/**
 * Opens a subscription. Neither protocol reports when it is active, and a runtime without support says so in its
 * response. Calls on one connection reach the runtime in order, so the subscription is active when two cheap later
 * calls were answered and it has not failed.
 */
async function consume<T>(
  handlers: Handlers,
  probe: () => Promise<unknown>,
  stream: AsyncIterable<T>,
  translate: (message: T) => RuntimeEvent | undefined,
): Promise<void> {
  let state: 'asking' | 'open' | 'over' = 'asking';
  const open = (): void => {
    if (state !== 'asking') return;
    state = 'open';
    handlers.onOpen();
  };
  const read = async (): Promise<void> => {
    for await (const message of stream) {
      open();
      const event = translate(message);
      if (event !== undefined) handlers.onEvent(event);
    }
  };
  const reading = read();
  const opening = probe()
    .then(probe)
    .then(open, () => undefined);
  try {
    await reading;
  } finally {
    state = 'over';
    await opening;
  }
}

/** Reads the events of CRI (containerd 1.7 and newer, CRI-O). They contain the pod's whole status. */
export function criEventSource(api: RuntimeServiceApi): RuntimeEventSource {
  return {
    kind: 'cri',
    subscribe: async (handlers, signal) => {
      const probe = (): Promise<unknown> => api.version({}, { signal, timeoutMs: PROBE_TIMEOUT_MS });
      try {
        await consume(handlers, probe, api.getContainerEvents({}, { signal, timeoutMs: Infinity }), eventFromCri);
      } catch (error) {
        if (signal.aborted || errorKind(error) === 'Aborted') return;
        throw error;
      }
      if (!signal.aborted)
        throw new KubeletError('Unavailable', 'the runtime ended the event stream', { op: 'GetContainerEvents' });
    },
  };
}

/** The topics that the agent uses. Execs of probes cause events too, with other topics and with /tasks/exit. */
const TOPICS: Readonly<Record<string, RuntimeEvent['kind']>> = lookupTable({
  '/containers/create': 'created',
  '/tasks/start': 'started',
  '/tasks/exit': 'stopped',
  '/tasks/delete': 'stopped',
  '/tasks/oom': 'changed',
  '/containers/delete': 'deleted',
});

const FILTERS = Object.keys(TOPICS).map((topic) => `namespace==${CRI_NAMESPACE},topic==${JSON.stringify(topic)}`);

/** Converts an event; undefined if it does not concern the life cycle of a container. */
export function eventFromContainerd(event: ContainerdEvent): RuntimeEvent | undefined {
  const kind = TOPICS[event.topic];
  if (kind === undefined || event.containerId === undefined || event.execId !== undefined) return undefined;
  const mapped: RuntimeEvent = { kind, id: event.containerId, atMs: event.exitedAtMs ?? event.timestampMs };
  const { exitStatus, exitedAtMs } = event;
  if (kind === 'stopped' && exitStatus !== undefined && exitedAtMs !== undefined && exitedAtMs > 0)
    mapped.exit = { exitCode: exitStatus, finishedAtMs: exitedAtMs };
  return mapped;
}

/** Reads containerd's own event service, for versions without CRI events (1.6). Its events contain only ids. */
export function containerdEventSource(channel: GrpcChannel, api: RuntimeServiceApi): RuntimeEventSource {
  return {
    kind: 'containerd',
    subscribe: async (handlers, signal) => {
      const probe = (): Promise<unknown> => api.version({}, { signal, timeoutMs: PROBE_TIMEOUT_MS });
      await consume(
        handlers,
        probe,
        subscribeContainerdEvents(channel, { filters: FILTERS, signal }),
        eventFromContainerd,
      );
    },
  };
}
