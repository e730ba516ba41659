import type { Clock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { acceptCommand, isServable } from '../../../streaming/command-server.ts';
import type { CommandStreams } from '../../../streaming/protocols.ts';
import { AttachRelay } from './attach-relay.ts';
import type { AttachLog, RuntimeEnds } from './attach-relay.ts';
import { refuseClient } from '../net/serve-app.ts';
import { openRuntimeSession } from './runtime-stream.ts';
import type { StreamClient } from './runtime-stream.ts';

export interface AttachStream {
  /** The streams that the client opens, and those that the runtime has. */
  readonly streams: { readonly client: CommandStreams; readonly runtime: CommandStreams };
  /**
   * Returns the runtime's URL; undefined if the container has ended. Rejects if the container cannot be attached to.
   */
  readonly url: () => Promise<string | undefined>;
  /** Asks the runtime whether the container has ended. */
  readonly hasEnded: () => Promise<boolean>;
  /** Opens the output of the container, to its end. Rejects if there is no log. */
  readonly openLog: (onCaughtUp: () => void, stop: AbortSignal) => Promise<AttachLog>;
  readonly idleMs: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Whether the client uses a protocol with which an attachment can be served here. */
export const canServeAttach = (request: StreamClient['request']): boolean => isServable(request);

/**
 * Serves an attachment whose client gets the earlier output of the container. A container that ends during the attach
 * is treated as ended. It owns the client's connection, and always answers and closes it. Never rejects.
 */
export async function serveAttach(client: StreamClient, attach: AttachStream): Promise<void> {
  const { streams, clock, hasEnded } = attach;
  const stopLog = new AbortController();
  let runtime: RuntimeEnds | undefined;
  client.socket.once('close', () => stopLog.abort());
  try {
    runtime = await openRuntime(client, attach);
    let onCaughtUp = (): void => undefined;
    const log = await attach.openLog(() => onCaughtUp(), stopLog.signal);
    const ends = await acceptCommand(client, { streams: streams.client, clock, idleMs: attach.idleMs });
    const relay = new AttachRelay({ client: ends, runtime, log, stopLog, hasEnded, tty: streams.runtime.tty, clock });
    onCaughtUp = () => relay.caughtUp();
    await relay.run();
  } catch (error) {
    stopLog.abort();
    runtime?.close();
    attach.log.error('could not serve an attachment', {
      path: client.request.url?.split('?', 1)[0],
      error: errorMessage(error),
    });
    refuseClient(client.socket, { status: 500, body: errorMessage(error) });
  }
}

async function openRuntime(
  client: StreamClient,
  { url, hasEnded, streams: { runtime: streams }, clock }: AttachStream,
): Promise<RuntimeEnds | undefined> {
  try {
    const from = await url();
    if (from === undefined) return undefined;
    const session = await openRuntimeSession(client, { url: from, clock });
    const open = (streamType: string, isWanted: boolean) => (isWanted ? session.open({ streamType }) : undefined);
    // The order in which upstream's client opens them.
    const error = session.open({ streamType: 'error' });
    const [stdin, stdout, stderr, resize] = [
      open('stdin', streams.stdin),
      open('stdout', streams.stdout),
      open('stderr', streams.stderr),
      open('resize', streams.tty),
    ];
    return { error, stdin, stdout, stderr, resize, close: () => session.close() };
  } catch (error) {
    if (await hasEnded().catch(() => false)) return undefined;
    throw error;
  }
}
