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

  /** Includes containers that do not run. */
  listContainers(filters: Filters, call?: CallSignal): Promise<readonly ContainerSummary[]>;
  /** `size`: also computes the size of the writable layer, which reads all of its files. */
  inspectContainer(id: string, options?: CallSignal & { readonly size?: boolean }): Promise<ContainerInspect>;
  /** Resolves with the id. Rejects with `Conflict` when the name is taken. */
  createContainer(name: string, body: CreateContainerBody, call?: CallSignal): Promise<string>;
  /** Starting a running container is success. */
  startContainer(id: string, call?: CallSignal): Promise<void>;
  /** Sends the stop signal, and SIGKILL after `graceS` seconds. Stopping a stopped container is success. */
  stopContainer(id: string, graceS: number, call?: CallSignal): Promise<void>;
  /** Also removes its anonymous volumes. A running container is killed. */
  removeContainer(id: string, call?: CallSignal): Promise<void>;
  updateContainer(id: string, resources: DockerResources, call?: CallSignal): Promise<void>;
  resizeContainer(id: string, size: TerminalSize): Promise<void>;

  /** The logs with time stamps: in Docker's frames, or plain for a container with a terminal. */
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
  /** Removes a tag. Removing the last tag removes the image. */
  removeImage(name: string, call?: CallSignal): Promise<void>;

  /**
   * Runs until it is aborted or the engine ends it. `onOpen` is called when the stream is open: later events are not
   * missed.
   */
  events(filters: Filters, options: EventOptions): AsyncIterable<DockerEvent>;
}

export interface LogRange {
  /** In Docker's notation: seconds, a point, nanoseconds. Includes lines of exactly that time. */
  readonly since: string;
  /** true: until the container ends. false: only the existing lines. */
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
