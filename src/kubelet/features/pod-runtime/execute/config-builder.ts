import type { Pod } from '../../../../api/core/pod.ts';
import { podAddresses } from '../../../../api/pod-ips.ts';
import type { AnyContainer } from '../../../../api/pod.ts';
import { errorMessage, isKind } from '../../../../base/errors.ts';
import type { ContainerId } from '../../../model/ids.ts';
import type { PodVolumes } from '../../../model/pod-volumes.ts';
import type { ContainerConfig, Mount, SandboxConfig } from '../../../ports/runtime.ts';
import { containerConfig } from '../config/container-config.ts';
import type { PreparedFiles } from '../config/container-files.ts';
import { ContainerFiles } from '../config/container-files.ts';
import type { PodRuntimeDeps } from '../deps.ts';
import { loadEnvObjects, resolveEnv } from '../config/env-config.ts';
import { loadEnvFiles } from '../config/env-files.ts';
import type { ImageVolumesOutcome, MountedImage } from '../config/image-volumes.ts';
import { ImageVolumes } from '../config/image-volumes.ts';
import type { DeviceAllocation } from '../../../ports/device-plugins.ts';
import type { ImageOutcome } from '../interfaces.ts';
import type { PlannedMount } from '../config/mounts-config.ts';
import {
  hostsFileMount,
  needsHostsFile,
  planDevices,
  planVolumeMounts,
  terminationLogMount,
} from '../config/mounts-config.ts';
import type { NodeFacts } from '../config/node-facts.ts';
import type { SandboxMaker } from './sandbox.ts';
import type { Tracked } from '../start-pacer.ts';
import { computeServiceEnv, loadServices } from '../config/service-env.ts';
import { track } from '../start-pacer.ts';
import { prepareSubPath } from '../config/subpath.ts';
import type { SyncRun } from '../sync-run.ts';
import { VolumesFailed } from '../sync-run.ts';

export interface BuiltConfig {
  readonly configOf: (attempt: number) => ContainerConfig;
  readonly sandboxConfig: SandboxConfig;
  /** The lowest attempt without a log file. */
  readonly nextAttempt: number;
}

/** The facts that are known when a container's configuration is built. */
export interface StartFacts {
  readonly image: Extract<ImageOutcome, { kind: 'present' }>;
  readonly imageVolumes: ReadonlyMap<string, MountedImage>;
  readonly targetId: ContainerId | undefined;
}

/** Collects the input of the container configuration, as early and as parallel as possible. */
export class ConfigBuilder {
  readonly #deps: PodRuntimeDeps;
  readonly #sandboxes: SandboxMaker;
  readonly #files: ContainerFiles;
  readonly #imageVolumes: ImageVolumes;

  constructor(deps: PodRuntimeDeps, sandboxes: SandboxMaker) {
    this.#deps = deps;
    this.#sandboxes = sandboxes;
    this.#files = new ContainerFiles(deps);
    this.#imageVolumes = new ImageVolumes(deps);
  }

  /**
   * Starts everything that does not need the sandbox: image and volumes now, log directory and files at the pod's turn.
   * Failures are reported when the container is started.
   */
  begin(run: SyncRun, container: AnyContainer): void {
    this.image(run, container);
    this.#imageVolumes.begin(run, container, () => this.#sandboxes.runtimeHandler(run));
    run.volumes();
    run.atTurn(() => this.#prepared(run, container));
  }

  image(run: SyncRun, container: AnyContainer): Tracked<ImageOutcome> {
    let image = run.images.get(container.name);
    if (image === undefined) {
      const { pod, signal } = run;
      const ensure = async (): Promise<ImageOutcome> =>
        this.#deps.images.ensure({ pod, container, runtimeHandler: await this.#sandboxes.runtimeHandler(run), signal });
      image = track(ensure());
      run.images.set(container.name, image);
    }
    return image;
  }

  /** Waits for the images that the container mounts as volumes. */
  imageVolumes(run: SyncRun, container: AnyContainer): Promise<ImageVolumesOutcome> {
    return this.#imageVolumes.ready(run, container, () => this.#sandboxes.runtimeHandler(run));
  }

  async build(run: SyncRun, container: AnyContainer, start: StartFacts): Promise<BuiltConfig> {
    const { settings } = this.#deps;
    const { pod } = run;
    const node = this.#deps.node();
    const podIps = podAddresses(pod, run.sandbox?.ips ?? [], node.hostIps);
    // They are awaited one after another, because each wait may release the slot. All have been running in parallel for
    // some time.
    const volumes = await this.#volumes(run);
    const files = await run.waitFor(this.#prepared(run, container));
    const [placement, env, sandboxConfig, runtimeHandler] = await Promise.all([
      run.placement(),
      this.#environment(run, container, { volumes, node, podIps }),
      this.#sandboxes.configOf(run),
      this.#sandboxes.runtimeHandler(run),
    ]);
    const owned = await this.#devices(run, container);
    const planned = planVolumeMounts(container, {
      volumes,
      imageVolumes: start.imageVolumes,
      env,
      podIps,
      selinuxEnabled: node.selinuxEnabled,
      recursiveReadOnlySupported: node.handlers.get(runtimeHandler)?.recursiveReadOnlyMounts ?? false,
    });
    const mounts = [
      ...(owned?.mounts ?? []).map((mount): Mount => ({ ...mount, propagation: 'private' })),
      ...(await this.#resolve(run, container, planned)),
      ...(await this.#ownMounts(run, container, { files, node, podIps })),
    ];
    const extraGroups = [
      ...new Set([
        ...(placement.extraGroups ?? []),
        ...[...volumes.values()].flatMap((volume) => volume.extraGroups ?? []),
      ]),
    ];
    const facts = {
      settings,
      node,
      placement: { ...placement, extraGroups },
      devices: [...(owned?.devices ?? []), ...planDevices(container, volumes)],
      deviceAnnotations: owned?.annotations,
      cdiDevices: owned?.cdiDevices,
      imageRef: start.image.imageRef,
      imageUser: start.image.user,
      runtimeHandler,
      // The pod's own settings take precedence.
      env: new Map([...Object.entries(owned?.envs ?? {}), ...env]),
      mounts,
      targetId: start.targetId,
    };
    return {
      configOf: (attempt) => containerConfig(pod, container, { ...facts, attempt }),
      sandboxConfig,
      nextAttempt: files.nextAttempt,
    };
  }

  /** Requests the devices. It does not hold the slot while it waits for plugins. */
  async #devices(run: SyncRun, container: AnyContainer): Promise<DeviceAllocation | undefined> {
    const { devices } = this.#deps;
    if (devices === undefined || !devices.needsDevices(run.pod, container)) return undefined;
    return run.waitFor(track(devices.runOptions(run.pod, container, run.signal)));
  }

  async #environment(
    run: SyncRun,
    container: AnyContainer,
    { volumes, node, podIps }: { volumes: PodVolumes; node: NodeFacts; podIps: readonly string[] },
  ): Promise<Map<string, string>> {
    const { pod } = run;
    const [objects, services, files] = await Promise.all([
      loadEnvObjects(pod, container, this.#deps.objects),
      loadServices(pod, this.#deps.services),
      loadEnvFiles(container, volumes, this.#deps),
    ]);
    const serviceEnv = computeServiceEnv(services, {
      namespace: pod.metadata.namespace,
      enableServiceLinks: pod.spec.enableServiceLinks ?? true,
    });
    return resolveEnv(pod, container, {
      objects,
      podIps,
      hostIps: node.hostIps,
      allocatable: node.allocatable,
      serviceEnv,
      files,
    });
  }

  /** Returns the pod's directory on the host. */
  podDir(pod: Pod): string {
    return this.#files.podDir(pod);
  }

  #prepared(run: SyncRun, container: AnyContainer): Tracked<PreparedFiles> {
    let prepared = run.prepared.get(container.name);
    if (prepared === undefined) {
      prepared = track(this.#files.prepare(run.pod, container));
      run.prepared.set(container.name, prepared);
    }
    return prepared;
  }

  async #volumes(run: SyncRun): Promise<PodVolumes> {
    try {
      return await run.waitFor(run.volumes());
    } catch (error) {
      if (isKind(error, 'Aborted')) throw error;
      throw new VolumesFailed(`Unable to attach or mount volumes: ${errorMessage(error)}`);
    }
  }

  /** Returns the host paths of mounts, including those of parts of volumes. */
  async #resolve(run: SyncRun, container: AnyContainer, planned: readonly PlannedMount[]): Promise<Mount[]> {
    const podDir = this.podDir(run.pod);
    return Promise.all(
      planned.map(async ({ mount, volume, index, subPath, shownSubPath }) => {
        if (subPath === undefined) return mount;
        return {
          ...mount,
          hostPath: await prepareSubPath(this.#deps, {
            podDir,
            container: container.name,
            index,
            volume,
            volumePath: mount.hostPath,
            subPath,
            shownSubPath,
          }),
        };
      }),
    );
  }

  async #ownMounts(
    run: SyncRun,
    container: AnyContainer,
    facts: { files: PreparedFiles; node: NodeFacts; podIps: readonly string[] },
  ): Promise<Mount[]> {
    const { files, node, podIps } = facts;
    const mounts: Mount[] = [];
    if (needsHostsFile(run.pod, container, podIps)) {
      run.hostsFile ??= this.#files.writeHostsFile(run.pod, podIps);
      mounts.push(hostsFileMount(await run.hostsFile, node.selinuxEnabled));
    }
    const termination =
      files.terminationLog === undefined
        ? undefined
        : terminationLogMount(container, files.terminationLog, node.selinuxEnabled);
    return termination === undefined ? mounts : [...mounts, termination];
  }
}
