import type { AnyContainer } from '../../../../api/pod.ts';
import { containerEvents, waitingReasons } from '../../../../api/reasons.ts';
import { errorKind, errorMessage, isKind } from '../../../../base/errors.ts';
import type { EphemeralContainer } from '../../../../api/core/container.ts';
import type { ContainerId, SandboxId } from '../../../model/ids.ts';
import { rpcMessage } from '../../../model/rpc-message.ts';
import { newestContainer } from '../../../model/runtime-status.ts';
import type { ContainerRuntimeStatus } from '../../../model/runtime-status.ts';
import type { ContainerConfig, SandboxConfig } from '../../../ports/runtime.ts';
import { computeAdoption, findContainerOf, isNameTaken, mayExistAfter } from './adopt.ts';
import type { ConfigBuilder } from './config-builder.ts';
import type { PodRuntimeDeps } from '../deps.ts';
import type { MountedImage } from '../config/image-volumes.ts';
import type { PodKiller } from './kill-pod.ts';
import type { StepOf } from '../plan/steps.ts';
import { track } from '../start-pacer.ts';
import type { ContainerFailure, SyncRun } from '../sync-run.ts';
import { VolumesFailed } from '../sync-run.ts';

const MAX_TRIES = 3;

type Created = { kind: 'created'; id: ContainerId } | { kind: 'running'; id: ContainerId };

/** A failed start with a waiting reason that users know. */
class StartError extends Error {
  readonly failure: ContainerFailure;
  constructor(reason: string, message: string, retryAtMs?: number) {
    super(message);
    this.failure = { reason, message, ...(retryAtMs === undefined ? {} : { retryAtMs }) };
  }
}

/**
 * Starts one container: image, configuration, create, start, one read of its status, postStart (upstream:
 * kuberuntime_container.go startContainer). The status is published as soon as the container runs, before the hook.
 */
export class ContainerStarter {
  readonly #deps: PodRuntimeDeps;
  readonly #builder: ConfigBuilder;
  readonly #killer: PodKiller;

  constructor(deps: PodRuntimeDeps, builder: ConfigBuilder, killer: PodKiller) {
    this.#deps = deps;
    this.#builder = builder;
    this.#killer = killer;
  }

  /**
   * Starts the container. Resolves to undefined if it started. Rejects with `Aborted`, and with `VolumesFailed`, which
   * is no failure of this container.
   */
  async start(
    run: SyncRun,
    container: AnyContainer,
    step: StepOf<'startContainer'>,
  ): Promise<ContainerFailure | undefined> {
    try {
      const sandbox = run.sandbox;
      if (sandbox === undefined) throw new StartError(waitingReasons.createContainerError, 'the pod has no sandbox');
      const created: Created =
        step.adopt === undefined
          ? await this.#create(run, container, { attempt: step.attempt, sandbox: sandbox.id })
          : { kind: 'created', id: step.adopt };
      const status = await this.#start(run, container, created);
      await this.#postStart(run, container, status);
      return undefined;
    } catch (error) {
      if (error instanceof StartError) return error.failure;
      if (isKind(error, 'Aborted') || error instanceof VolumesFailed) throw error;
      return { reason: waitingReasons.createContainerError, message: rpcMessage(errorMessage(error)) };
    }
  }

  async #create(
    run: SyncRun,
    container: AnyContainer,
    want: { attempt: number; sandbox: SandboxId },
  ): Promise<Created> {
    const { events } = this.#deps;
    const image = await run.waitFor(this.#builder.image(run, container));
    if (image.kind === 'failed') {
      events.event(run.pod, 'Warning', containerEvents.failed, `Error: ${image.reason}`, container.name);
      throw new StartError(image.reason, image.message, image.retryAtMs);
    }
    const imageVolumes = await this.#imageVolumes(run, container);
    let configOf: (attempt: number) => ContainerConfig;
    let sandboxConfig: SandboxConfig;
    let attempt = want.attempt;
    let first: ContainerConfig;
    try {
      const built = await this.#builder.build(run, container, {
        image,
        imageVolumes,
        targetId: this.#targetOf(run, container),
      });
      ({ configOf, sandboxConfig } = built);
      // If the runtime has no record, the log files show how often the container ran before.
      if (attempt === 0) attempt = built.nextAttempt;
      first = configOf(attempt);
    } catch (error) {
      if (isKind(error, 'Aborted') || error instanceof VolumesFailed) throw error;
      throw this.#failedBy(run, container, waitingReasons.createContainerConfigError, error);
    }
    run.checkMayBegin();
    const created = await this.#createUntilKnown(run, container, {
      configOf,
      first,
      sandboxConfig,
      attempt,
      sandbox: want.sandbox,
    });
    events.event(run.pod, 'Normal', containerEvents.created, 'Container created', container.name);
    return created;
  }

  /** Waits for the image volumes. The container's own image came first, because its failure is more informative. */
  async #imageVolumes(run: SyncRun, container: AnyContainer): Promise<ReadonlyMap<string, MountedImage>> {
    try {
      const outcome = await this.#builder.imageVolumes(run, container);
      if (outcome.kind === 'present') return outcome.images;
      this.#failed(run, container, outcome.reason);
      throw new StartError(outcome.reason, outcome.message, outcome.retryAtMs);
    } catch (error) {
      if (error instanceof StartError || isKind(error, 'Aborted')) throw error;
      throw this.#failedBy(run, container, waitingReasons.createContainerConfigError, error);
    }
  }

  async #createUntilKnown(
    run: SyncRun,
    container: AnyContainer,
    want: {
      configOf: (attempt: number) => ContainerConfig;
      first: ContainerConfig;
      sandboxConfig: SandboxConfig;
      attempt: number;
      sandbox: SandboxId;
    },
  ): Promise<Created> {
    const { runtime } = this.#deps;
    const options = { signal: run.signal };
    for (let attempt = want.attempt; ; attempt++) {
      try {
        return {
          kind: 'created',
          id: await runtime.createContainer(
            want.sandbox,
            attempt === want.attempt ? want.first : want.configOf(attempt),
            want.sandboxConfig,
            options,
          ),
        };
      } catch (error) {
        if (isKind(error, 'Aborted')) throw error;
        const adopted = mayExistAfter(errorKind(error))
          ? await this.#adopt(run, { name: container.name, attempt, sandbox: want.sandbox })
          : 'nothing';
        if (typeof adopted !== 'string') return adopted;
        const taken = adopted === 'removed' || isNameTaken(errorKind(error), errorMessage(error));
        if (taken && attempt + 1 < want.attempt + MAX_TRIES) continue;
        throw this.#failedBy(run, container, waitingReasons.createContainerError, error);
      }
    }
  }

  /** Searches for the container that a failed create may have left. It is either adopted, or a conflict. */
  async #adopt(
    run: SyncRun,
    want: { name: string; attempt: number; sandbox: SandboxId },
  ): Promise<Created | 'nothing' | 'removed'> {
    const { runtime, log } = this.#deps;
    const options = { signal: run.signal };
    try {
      const found = await findContainerOf(runtime, { uid: run.uid, ...want }, options);
      if (found === undefined) return 'nothing';
      const decision = computeAdoption(found, want.sandbox);
      log.info('found a container whose creation had been given up', {
        pod: run.pod.metadata.name,
        container: want.name,
        attempt: want.attempt,
        decision,
      });
      if (decision === 'start') return { kind: 'created', id: found.id };
      if (decision === 'take') return { kind: 'running', id: found.id };
      await runtime.removeContainer(found.id, options);
      return 'removed';
    } catch (error) {
      if (isKind(error, 'Aborted')) throw error;
      log.warn('could not list containers after a failed create', {
        pod: run.pod.metadata.name,
        container: want.name,
        error: errorMessage(error),
      });
      return 'nothing';
    }
  }

  async #start(run: SyncRun, container: AnyContainer, created: Created): Promise<ContainerRuntimeStatus> {
    const { runtime, events } = this.#deps;
    const options = { signal: run.signal };
    if (created.kind === 'created') {
      try {
        await runtime.startContainer(created.id, options);
      } catch (error) {
        if (isKind(error, 'Aborted')) throw error;
        const status = await this.#note(run, container, created.id, 'own');
        // A start that timed out may have taken effect. Then the container runs, or has run.
        if (status?.state !== 'running') {
          throw this.#failedBy(run, container, waitingReasons.runContainerError, error, created.id);
        }
        events.event(run.pod, 'Normal', containerEvents.started, 'Container started', container.name);
        return status;
      }
    }
    events.event(run.pod, 'Normal', containerEvents.started, 'Container started', container.name);
    const status = await this.#note(run, container, created.id, 'observed');
    if (status === undefined)
      throw new StartError(
        waitingReasons.runContainerError,
        `container ${container.name} is gone or cannot be read right after its start`,
      );
    this.#deps.onStarted?.(run.pod, status);
    return status;
  }

  /**
   * Reads the container's status once, and passes it to the cache and to the status publisher. `exitIs` tells the cache
   * how to treat an exit: `own` if the caller handles it.
   */
  async #note(
    run: SyncRun,
    container: AnyContainer,
    id: ContainerId,
    exitIs: 'own' | 'observed',
  ): Promise<ContainerRuntimeStatus | undefined> {
    const { runtime, cache, onChange, log } = this.#deps;
    try {
      const status = await runtime.containerStatus(id, { signal: run.signal });
      run.foldContainer(status);
      cache.noteContainer(run.status, status, status.state === 'exited' ? exitIs : 'own');
      onChange(run.uid, { kind: 'container', name: container.name, id });
      return status;
    } catch (error) {
      if (isKind(error, 'Aborted')) throw error;
      log.warn('could not read the status of a container', {
        pod: run.pod.metadata.name,
        container: container.name,
        error: errorMessage(error),
      });
      return undefined;
    }
  }

  /**
   * Runs the postStart hook. The next containers wait for it, without a start slot. If it fails, the container is
   * killed.
   */
  async #postStart(run: SyncRun, container: AnyContainer, status: ContainerRuntimeStatus): Promise<void> {
    const handler = container.lifecycle?.postStart;
    if (handler === undefined || status.state !== 'running') return;
    const { hooks, events, log } = this.#deps;
    const hook = hooks.run({ pod: run.pod, container, id: status.id, podIp: run.sandbox?.ips[0] }, handler, run.signal);
    const result = await run.waitFor(track(hook));
    if (result.ok) return;
    log.warn('postStart hook failed', { pod: run.pod.metadata.name, container: container.name, error: result.message });
    // The event does not contain the message, which may contain secrets of the container.
    events.event(run.pod, 'Warning', containerEvents.failedPostStartHook, 'PostStartHook failed', container.name);
    const { pod, signal } = run;
    try {
      const fold = await this.#killer.killContainer({
        pod,
        signal,
        status: run.status,
        container: status,
        reason: 'FailedPostStartHook',
        message: 'FailedPostStartHook',
      });
      run.status = fold(run.status);
    } catch (error) {
      if (isKind(error, 'Aborted')) throw error;
      log.error('could not kill a container whose postStart hook failed', {
        pod: pod.metadata.name,
        container: container.name,
        error: errorMessage(error),
      });
    }
    throw new StartError(waitingReasons.postStartHookError, result.message);
  }

  /**
   * Returns the container whose processes an ephemeral container shares. Throws `CreateContainerConfigError` if that
   * container does not exist.
   */
  #targetOf(run: SyncRun, container: AnyContainer): ContainerId | undefined {
    const name = (container as Partial<EphemeralContainer>).targetContainerName ?? '';
    if (name === '') return undefined;
    const target = newestContainer(run.status, name);
    if (target !== undefined) return target.id;
    const message = `unable to find target container ${name}`;
    this.#failed(run, container, message);
    throw new StartError(waitingReasons.createContainerConfigError, message);
  }

  /**
   * Builds an error in the runtime's words. The container's name replaces the ID, which differs with each attempt, so
   * that repeated events are counted as one.
   */
  #failedBy(run: SyncRun, container: AnyContainer, reason: string, error: unknown, id?: ContainerId): StartError {
    const said = rpcMessage(errorMessage(error));
    const message = id === undefined ? said : said.replaceAll(id, container.name);
    this.#failed(run, container, message);
    return new StartError(reason, message);
  }

  #failed(run: SyncRun, container: AnyContainer, message: string): void {
    this.#deps.events.event(run.pod, 'Warning', containerEvents.failed, `Error: ${message}`, container.name);
  }
}
