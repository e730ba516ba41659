import type { Clock } from '../../base/clock.ts';
import { errorMessage, ignoreNotFound, isKind, KubeletError } from '../../base/errors.ts';
import type {
  Container,
  ContainerFilter,
  ContainerStatusResponse,
  CreateContainerRequest,
  LinuxContainerResources,
} from '../../cri/generated/cri-v1.ts';
import { ContainerState } from '../../cri/generated/cri-v1.ts';
import type { DockerEngine } from '../engine/docker-engine.ts';
import type { ContainerInspect } from '../engine/docker-types.ts';
import { containerBody } from '../plan/container-body.ts';
import { listedContainer, statusOf } from '../plan/container-status.ts';
import type { ImageOfContainer } from '../plan/container-status.ts';
import { labelFilter, labelKeys } from '../plan/docker-labels.ts';
import { containerName } from '../plan/docker-names.ts';
import { dockerResources } from '../plan/docker-resources.ts';
import { nanosOf } from '../plan/docker-time.ts';
import { securityOptions } from '../plan/security-options.ts';
import type { ContainerLogs, LoggedContainer } from './container-logs.ts';
import { createNamed } from './create-named.ts';
import { needId } from './need-id.ts';
import type { ShimHost } from './shim-ports.ts';

export interface ContainersParts {
  readonly engine: DockerEngine;
  readonly host: ShimHost;
  readonly logs: Pick<ContainerLogs, 'prepare' | 'follow' | 'settled' | 'reopen'>;
  readonly lowestOomScore: number;
  readonly clock: Clock;
  /** The runtime handlers of the sandboxes that this shim has started, by id, so that Docker need not be asked. */
  readonly runtimes: ReadonlyMap<string, string>;
}

/** How long the end of a container is held back for the last lines of its log. */
const LOG_PATIENCE_MS = 10_000;
const MOST_CACHED_IMAGES = 1000;
const MOST_CREATED = 1000;
/** A log that is not complete after this time no longer delays the others. */
const COMPLETION_LIMIT_MS = 60_000;

/** The containers of pods in the CRI's terms. */
export class Containers {
  readonly #parts: ContainersParts;
  /**
   * References of an image, by its id. They are kept because each status needs them. A pull may add a digest, which
   * then appears later.
   */
  readonly #images = new Map<string, ImageOfContainer>();
  /** Containers that this shim created and has not started. */
  readonly #created = new Map<string, LoggedContainer>();

  constructor(parts: ContainersParts) {
    this.#parts = parts;
  }

  async create(request: CreateContainerRequest, signal?: AbortSignal): Promise<string> {
    const { engine, host, clock, lowestOomScore } = this.#parts;
    const { config, sandboxConfig, podSandboxId } = request;
    if (config?.metadata === undefined) throw new KubeletError('Invalid', 'the container has no metadata');
    if (sandboxConfig?.metadata === undefined) throw new KubeletError('Invalid', 'the sandbox has no metadata');
    const { sandboxId, runtime } = await this.#sandboxOf(podSandboxId, signal);
    const security = config.linux?.securityContext;
    const securityOpt = await securityOptions(security ?? {}, (file) => host.readProfile(file));
    const body = containerBody({
      config,
      sandboxId,
      logDirectory: sandboxConfig.logDirectory,
      cgroupParent: sandboxConfig.linux?.cgroupParent ?? '',
      securityOpt,
      createdAtNanos: nanosOf(clock.nowMs()),
      lowestOomScore,
      runtime,
    });
    await Promise.all(config.mounts.map(({ hostPath }) => host.ensureDirectory(hostPath)));
    const id = await createNamed(engine, containerName(config.metadata, sandboxConfig.metadata), body, signal);
    if (this.#created.size >= MOST_CREATED) this.#created.clear();
    this.#created.set(id, { id, path: body.Labels[labelKeys.logPath] ?? '', isTty: config.tty });
    return id;
  }

  async start(id: string, signal?: AbortSignal): Promise<void> {
    const { engine, logs } = this.#parts;
    const fresh = this.#created.get(id);
    this.#created.delete(id);
    const container = fresh ?? (await this.#createdBefore(id, signal));
    await logs.prepare(container);
    await engine.startContainer(container.id, { signal });
    logs.follow(container);
  }

  /** `graceS`: the time between the stop signal and SIGKILL. Stopping a missing container is success. */
  async stop(id: string, graceS: number, signal?: AbortSignal): Promise<void> {
    await ignoreNotFound(this.#parts.engine.stopContainer(id, graceS, { signal }));
  }

  async remove(id: string, signal?: AbortSignal): Promise<void> {
    const { engine, logs } = this.#parts;
    this.#created.delete(id);
    await ignoreNotFound(
      (async () => {
        const container = await engine.inspectContainer(id, { signal });
        if (container.State?.Running !== true) await logs.settled(container.Id, LOG_PATIENCE_MS);
        await engine.removeContainer(container.Id, { signal });
      })(),
    );
  }

  async list(filter: ContainerFilter | undefined, signal?: AbortSignal): Promise<readonly Container[]> {
    const { id = '', state, podSandboxId = '', labelSelector = {} } = filter ?? {};
    const label = labelFilter(
      'container',
      labelSelector,
      podSandboxId === '' ? {} : { [labelKeys.sandboxId]: podSandboxId },
    );
    const summaries = await this.#parts.engine.listContainers({ label, ...(id !== '' && { id: [id] }) }, { signal });
    const listed = summaries
      .map(listedContainer)
      .filter((each) => each !== undefined)
      .filter((each) => state === undefined || each.state === state.state);
    // When the end of a container is reported, its log must be complete.
    const ended = listed.filter((each) => each.state === ContainerState.CONTAINER_EXITED);
    await Promise.all(ended.map((each) => this.#parts.logs.settled(each.id, LOG_PATIENCE_MS)));
    return listed;
  }

  /** The status of an ended container, when its log is complete. */
  async status(id: string, isVerbose: boolean, signal?: AbortSignal): Promise<ContainerStatusResponse> {
    const container = await this.#parts.engine.inspectContainer(id, { signal });
    const status = statusOf(container, await this.#imageOf(container.Image ?? '', signal));
    if (status.state === ContainerState.CONTAINER_EXITED) await this.#parts.logs.settled(container.Id, LOG_PATIENCE_MS);
    const info: Record<string, string> = isVerbose
      ? {
          info: JSON.stringify({
            pid: container.State?.Pid ?? 0,
            sandboxID: container.Config?.Labels?.[labelKeys.sandboxId],
            config: {
              stdin: container.Config?.OpenStdin ?? false,
              stdin_once: container.Config?.StdinOnce ?? false,
              tty: container.Config?.Tty ?? false,
            },
          }),
        }
      : {};
    return { status, info };
  }

  async update(id: string, resources: LinuxContainerResources | undefined, signal?: AbortSignal): Promise<void> {
    await this.#parts.engine.updateContainer(id, dockerResources(resources), { signal });
  }

  async reopenLog(id: string, signal?: AbortSignal): Promise<void> {
    const container = await this.#parts.engine.inspectContainer(id, { signal });
    if (container.State?.Running !== true) throw new KubeletError('Invalid', `the container ${id} is not running`);
    if (!(await this.#parts.logs.reopen(container.Id))) this.#parts.logs.follow(loggedContainer(container));
  }

  async #sandboxOf(podSandboxId: string, signal?: AbortSignal): Promise<{ sandboxId: string; runtime: string }> {
    const known = this.#parts.runtimes.get(podSandboxId);
    if (known !== undefined) return { sandboxId: podSandboxId, runtime: known };
    const { Id: sandboxId, Config: config } = await this.#parts.engine.inspectContainer(needId(podSandboxId), {
      signal,
    });
    return { sandboxId, runtime: config?.Labels?.[labelKeys.runtimeHandler] ?? '' };
  }

  /**
   * Created by an earlier shim, or already started. Docker would run it once more, but for the kubelet a restart is a
   * new container.
   */
  async #createdBefore(id: string, signal?: AbortSignal): Promise<LoggedContainer> {
    const inspected = await this.#parts.engine.inspectContainer(id, { signal });
    if (inspected.State?.Status !== 'created')
      throw new KubeletError(
        'Invalid',
        `container ${id} is in the state ${inspected.State?.Status ?? 'unknown'}, not created`,
      );
    return loggedContainer(inspected);
  }

  async #imageOf(id: string, signal?: AbortSignal): Promise<ImageOfContainer> {
    const known = this.#images.get(id);
    if (known !== undefined) return known;
    let found: ImageOfContainer = { id, repoDigests: [] };
    try {
      const { RepoDigests } = await this.#parts.engine.inspectImage(id, { signal });
      found = { id, repoDigests: RepoDigests ?? [] };
    } catch (error) {
      // Docker can remove the image of an existing container by force.
      if (!isKind(error, 'NotFound')) throw error;
    }
    if (this.#images.size >= MOST_CACHED_IMAGES) this.#images.clear();
    this.#images.set(id, found);
    return found;
  }
}

function loggedContainer({ Id: id, Config: config }: ContainerInspect): LoggedContainer {
  return { id, path: config?.Labels?.[labelKeys.logPath] ?? '', isTty: config?.Tty ?? false };
}

/**
 * How many ended containers have their logs completed concurrently: each uses a connection to Docker and an open file.
 */
const MOST_COMPLETED = 8;

/**
 * Follows the logs of running containers, and completes the logs of containers that ended while the shim was stopped.
 */
export async function resumeLogs(
  { engine, logs }: Pick<ContainersParts, 'engine' | 'logs'>,
  onError: (id: string, words: string) => void,
): Promise<void> {
  const summaries = await engine.listContainers({ label: labelFilter('container', {}) });
  const resume = async (id: string): Promise<void> => {
    try {
      logs.follow(loggedContainer(await engine.inspectContainer(id)));
    } catch (error) {
      if (!isKind(error, 'NotFound')) onError(id, errorMessage(error));
    }
  };
  const isEnded = (state = ''): boolean => ['exited', 'dead', 'removing'].includes(state);
  const ended = summaries.filter(({ State }) => isEnded(State)).map(({ Id }) => Id);
  const others = summaries.filter(({ State }) => State !== 'created' && !isEnded(State));
  await Promise.all(others.map(({ Id }) => resume(Id)));
  const work = async (): Promise<void> => {
    for (let id = ended.shift(); id !== undefined; id = ended.shift()) {
      await resume(id);
      await logs.settled(id, COMPLETION_LIMIT_MS);
    }
  };
  await Promise.all(Array.from({ length: MOST_COMPLETED }, work));
}
