import { KubeletError } from '../../../base/errors.ts';
import type { ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import type { ContainerRuntime } from '../../ports/runtime.ts';
import type { AttachHistory, LogPosition } from './attach-history.ts';
import type { ContainerLookup } from './container-lookup.ts';
import { containerNotFound } from './container-lookup.ts';
import { decideAttach } from './decide-attach.ts';
import type { AttachedStreams, StreamPlan, StreamSources } from './stream-requests.ts';

export interface StreamSourceParts {
  readonly lookup: ContainerLookup;
  readonly runtime: Pick<ContainerRuntime, 'execUrl' | 'attachUrl' | 'portForwardUrl' | 'containerStatus'>;
  readonly history: AttachHistory;
  /** Returns the wall-clock time. */
  readonly nowMs: () => number;
}

/** Creates the lookups for streams into containers. */
export function createStreamSources({ lookup, runtime, history, nowMs }: StreamSourceParts): StreamSources {
  return {
    pod: (namespace, name) => lookup.pod(namespace, name),
    isUidOf: (pod, uid) => lookup.isUidOf(pod, uid),
    execUrl: async (pod, name, request) =>
      runtime.execUrl({ id: lookup.running(pod, name, containerNotFound(name)).id, ...request }),
    attachUrl: async (pod, name, streams) => {
      const where = `pod ${pod.metadata.name}_${pod.metadata.namespace}`;
      const { id } = lookup.running(pod, name, new KubeletError('Internal', `container ${name} not found in ${where}`));
      history.noteAttach(id);
      return runtime.attachUrl({ id, ...streams });
    },
    planAttach: (pod, name, client) =>
      decideAttach({ ...client, containers: lookup.attempts(pod, name), history, nowMs: nowMs() }),
    portForwardUrl: async (pod, ports) => {
      const sandbox = lookup.readySandbox(pod);
      const name = JSON.stringify(`${pod.metadata.name}_${pod.metadata.namespace}`);
      if (sandbox === undefined) throw new KubeletError('Internal', `pod not found (${name})`);
      return runtime.portForwardUrl(sandbox.id, ports);
    },
  };
}

/** Reads the log of a container from a position on, and follows it. */
export interface AttachedLogReader<Log> {
  followEntries(
    target: { pod: { uid: string; name: string; namespace: string }; container: ContainerRuntimeStatus },
    options: { from: LogPosition | undefined; onCaughtUp: () => void },
    signal: AbortSignal,
  ): Promise<Log>;
}

/** The source of an attachment with earlier output: what it reads, and what it asks the runtime. */
export interface AttachSource<Log> {
  readonly streams: AttachedStreams;
  /** Returns the runtime's URL; undefined for a container that has ended. */
  url(): Promise<string | undefined>;
  hasEnded(): Promise<boolean>;
  openLog(onCaughtUp: () => void, stop: AbortSignal): Promise<Log>;
}

/** Creates the source of an attachment whose client also gets what the container wrote before. */
export function createAttachSource<Log>(
  {
    runtime,
    history,
    logReader,
  }: Pick<StreamSourceParts, 'runtime' | 'history'> & { logReader: AttachedLogReader<Log> },
  { pod, plan, streams }: StreamPlan & { outcome: 'attach' },
): AttachSource<Log> {
  const { container, from, what } = plan;
  const { uid, name, namespace } = pod.metadata;
  return {
    streams,
    url: async () => {
      if (what === 'log') return undefined;
      history.noteAttach(container.id);
      return runtime.attachUrl({ id: container.id, ...streams.runtime });
    },
    hasEnded: async () => (await runtime.containerStatus(container.id)).state === 'exited',
    openLog: (onCaughtUp, stop) =>
      logReader.followEntries({ pod: { uid, name, namespace }, container }, { from, onCaughtUp }, stop),
  };
}
