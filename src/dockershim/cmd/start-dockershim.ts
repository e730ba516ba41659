import { chmod, mkdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { hasSysResource } from '../../base/capabilities.ts';
import { systemClock } from '../../base/clock.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { parseEndpoint } from '../../cri/endpoint.ts';
import { ImageServiceDefinition, RuntimeServiceDefinition } from '../../cri/generated/cri-v1.ts';
import { handlersOf, serveRaw } from '../../grpc/grpc-server.ts';
import { createDockerClient } from '../adapters/docker-client.ts';
import { DockerHttp } from '../adapters/docker-http.ts';
import { createCniHost, linuxShimHost } from '../adapters/linux-host.ts';
import { logFiles } from '../adapters/log-files.ts';
import { openRecordFiles } from '../adapters/record-files.ts';
import { startStreamingServer } from '../adapters/streaming-server.ts';
import { CniNetwork } from '../cni/cni-network.ts';
import { ContainerLogs } from '../shim/container-logs.ts';
import { ContainerStatsReader } from '../shim/container-stats.ts';
import { Containers, resumeLogs } from '../shim/containers.ts';
import { createDockershim } from '../shim/dockershim.ts';
import { Images } from '../shim/images.ts';
import { PodStatsReader } from '../shim/pod-stats.ts';
import { PauseImage } from '../shim/pause-image.ts';
import { Sandboxes } from '../shim/sandboxes.ts';
import type { DockershimOptions } from './dockershim-flags.ts';

export { defaultDockershimOptions } from './dockershim-flags.ts';

/** The kernel's lowest OOM score adjustment. */
const LOWEST_OOM_SCORE = -1000;

export interface RunningDockershim {
  stop(): Promise<void>;
}

/** Containers keep running while the shim is stopped. */
export async function startDockershim(options: DockershimOptions, log: Logger): Promise<RunningDockershim> {
  const clock = systemClock;
  const http = new DockerHttp(parseEndpoint(options.dockerEndpoint));
  const engine = createDockerClient(http);
  const host = linuxShimHost;
  const streaming = await startStreamingServer({ engine, host, clock, log, idleMs: options.streamingIdleMs });
  const logs = new ContainerLogs({ engine, files: logFiles, clock, log });
  const network = new CniNetwork(
    createCniHost({ configFolder: options.cniConfigFolder, pluginFolders: options.cniPluginFolders }),
  );
  const images = new Images({
    engine,
    host,
    clock,
    pauseImage: options.pauseImage,
    progressTimeoutMs: options.pullProgressTimeoutMs,
  });
  const lowestOomScore = await readLowestOomScore();
  const runtimes = new Map<string, string>();
  const containers = new Containers({ engine, host, logs, lowestOomScore, clock, runtimes });
  const sandboxes = new Sandboxes({
    engine,
    network,
    records: await openRecordFiles(path.join(options.rootFolder, 'sandbox')),
    host,
    pauseImage: new PauseImage(options.pauseImage, engine, images),
    lowestOomScore,
    clock,
    log,
    runtimes,
  });
  const stats = new ContainerStatsReader({ engine, clock });
  const podStats = new PodStatsReader({ engine, host, clock });
  const shim = createDockershim({
    engine,
    sandboxes,
    containers,
    images,
    stats,
    podStats,
    network,
    tickets: streaming.tickets,
    host,
    clock,
  });
  const socketPath = parseEndpoint(options.listen);
  await mkdir(path.dirname(socketPath), { recursive: true });
  await rm(socketPath, { force: true });
  const server = await serveRaw(socketPath, [
    ...handlersOf(RuntimeServiceDefinition, shim.runtime),
    ...handlersOf(ImageServiceDefinition, shim.images),
  ]);
  await chmod(socketPath, 0o660);
  void resumeLogs({ engine, logs }, (id, error) =>
    log.warn('the log of a container is not resumed', { id, error }),
  ).catch((error: unknown) => log.warn('logs are not resumed', { error: errorMessage(error) }));
  log.info('serving', { endpoint: options.listen, docker: options.dockerEndpoint });
  return {
    stop: async () => {
      server.close();
      await Promise.all([logs.stop(), streaming.close()]);
      http.close();
    },
  };
}

/**
 * This assumes that Docker has the same privileges as this process. Without the privilege to lower OOM scores, Docker
 * keeps its own score.
 */
async function readLowestOomScore(): Promise<number> {
  if (hasSysResource(await readFile('/proc/self/status', 'utf8'))) return LOWEST_OOM_SCORE;
  return Number(await readFile('/proc/self/oom_score_adj', 'utf8'));
}
