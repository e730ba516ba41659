/** Waits until a new cluster serves, and reports the way there. */
import { services } from '../../api/client/resource-types.ts';
import { urlHost } from '../ip-families.ts';
import type { PodView } from '../progress.ts';
import type { ClusterClient } from './cluster-client.ts';
import { exists, followPods, whenAvailable, whenNodeReady } from './cluster-client.ts';
import { podLine } from './cluster-view.ts';
import { exampleDeployment, exampleService, whenServed } from './seed.ts';

export interface ServedOptions {
  readonly nodeNames: readonly string[];
  /** When the start began, in wall-clock milliseconds: an older Ready condition of a node does not count. */
  readonly sinceMs: number;
  readonly hasExample: boolean;
  readonly routesServices: boolean;
  readonly signal: AbortSignal;
  /** Called for each step that is done and each change of a pod. */
  readonly done: (text: string) => void;
}

/** Resolves when the nodes are ready and the example answers, to the address of the example if it exists. */
export async function waitUntilServed({ api }: ClusterClient, options: ServedOptions): Promise<string | undefined> {
  const { nodeNames, sinceMs, done } = options;
  const over = new AbortController();
  const signal = AbortSignal.any([options.signal, over.signal]);
  reportPods(api, done, signal);
  try {
    await Promise.all(
      nodeNames.map(async (name) => {
        await whenNodeReady(api, name, { sinceMs, signal });
        done(`node ${name} is ready`);
      }),
    );
    if (!(await exists(api, services, exampleService)) || !options.hasExample) return undefined;
    await whenAvailable(api, exampleDeployment, signal);
    const url = `http://${urlHost((await api.get(services, exampleService)).spec.clusterIP ?? '')}`;
    if (options.routesServices) await whenServed(url, signal);
    if (!signal.aborted) done(`nginx is served on ${url}`);
    return url;
  } finally {
    over.abort();
  }
}

function reportPods(api: ClusterClient['api'], done: (text: string) => void, signal: AbortSignal): void {
  const shown = new Map<string, string>();
  followPods(
    api,
    (list) => {
      for (const pod of list() as readonly PodView[]) {
        const line = podLine(pod);
        if (shown.get(pod.metadata.name) !== line) done(line);
        shown.set(pod.metadata.name, line);
      }
    },
    signal,
  );
}
