import type { Duplex } from 'node:stream';
import type {
  ContainerInspect,
  ContainerSummary,
  CreateContainerBody,
  DockerEvent,
  DockerInfo,
  DockerResources,
  DockerStats,
  DockerVersion,
  ExecBody,
  ExecInspect,
  ImageInspect,
  ImageSummary,
  PullProgress,
  RegistryAuth,
} from './docker-types.ts';

/** Docker's filters: for each name the accepted values. */
export type Filters = Readonly<Record<string, readonly string[]>>;

export interface CallSignal {
  readonly signal?: AbortSignal | undefined;
}

/**
 * Docker Engine as the shim uses it. Every method rejects with KubeletError: `NotFound`, `Conflict`, `Invalid` and
 * `Internal` as Docker says, `Unavailable` when the engine does not answer, `Aborted` after an abort.
 */
export interface DockerEngine {
  version(call?: CallSignal): Promise<DockerVersion>;
  info(call?: CallSignal): Promise<DockerInfo>;

  /** Also those that do not run. */
  listContainers(filters: Filters, call?: CallSignal): Promise<readonly ContainerSummary[]>;
  /** `size`: reads the size of the writable layer too, which costs a walk over its files. */
  inspectContainer(id: string, options?: CallSignal & { readonly size?: boolean }): Promise<ContainerInspect>;
  /** Resolves with the id. `Conflict`: the name is taken. */
  createContainer(name: string, body: CreateContainerBody, call?: CallSignal): Promise<string>;
  /** Starting one that runs is success. */
  startContainer(id: string, call?: CallSignal): Promise<void>;
  /** Sends the stop signal, and SIGKILL after `graceS` seconds. Stopping one that has stopped is success. */
  stopContainer(id: string, graceS: number, call?: CallSignal): Promise<void>;
  /** With its anonymous volumes; a running one is killed. */
  removeContainer(id: string, call?: CallSignal): Promise<void>;
  updateContainer(id: string, resources: DockerResources, call?: CallSignal): Promise<void>;
  resizeContainer(id: string, size: TerminalSize): Promise<void>;

  /** The logs with time stamps, in Docker's frames, or plain for a container with a terminal. */
  readLogs(id: string, range: LogRange): Promise<AsyncIterable<Uint8Array>>;
  attach(id: string, streams: { readonly stdin: boolean } & CallSignal): Promise<Duplex>;

  createExec(id: string, body: ExecBody, call?: CallSignal): Promise<string>;
  startExec(execId: string, options: { readonly tty: boolean } & CallSignal): Promise<Duplex>;
  inspectExec(execId: string, call?: CallSignal): Promise<ExecInspect>;
  resizeExec(execId: string, size: TerminalSize): Promise<void>;

  stats(id: string, call?: CallSignal): Promise<DockerStats>;

  listImages(filters: Filters, call?: CallSignal): Promise<readonly ImageSummary[]>;
  inspectImage(name: string, call?: CallSignal): Promise<ImageInspect>;
  /** Yields the progress; a pull that failed ends with a line that has an `error`. */
  pullImage(reference: string, auth: RegistryAuth | undefined, signal: AbortSignal): AsyncIterable<PullProgress>;
  /** Removes a tag, and the image with its last one. */
  removeImage(name: string, call?: CallSignal): Promise<void>;

  /** Lasts until aborted, or until the engine ends it. `onOpen`: from here on nothing is missed. */
  events(filters: Filters, options: EventOptions): AsyncIterable<DockerEvent>;
}

export interface LogRange {
  /** Docker's notation: seconds, a point, nanoseconds. What was written at that moment is included. */
  readonly since: string;
  /** Until the container ends; else what is there. */
  readonly isFollowed: boolean;
  readonly signal: AbortSignal;
}

export interface EventOptions {
  readonly signal: AbortSignal;
  readonly onOpen: () => void;
}

/** In characters. */
export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}
