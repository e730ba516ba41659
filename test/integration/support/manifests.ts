// Manifests as values, with defaults for tests: short names, an image built here, a main process that ends at SIGTERM.
import { WEB_IMAGE } from '../../../src/up/images/catalogue.ts';

export interface PodManifest {
  readonly apiVersion: 'v1';
  readonly kind: 'Pod';
  readonly metadata: {
    name: string;
    namespace?: string;
    uid?: string;
    deletionTimestamp?: string;
    deletionGracePeriodSeconds?: number;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  readonly spec: Record<string, unknown>;
}

/** Runs until SIGTERM, then ends at once with 0. */
export const SLEEP = ['sh', '-c', 'trap "exit 0" TERM; sleep 2147483647 & wait'];
/** Runs a script and then waits until SIGTERM. */
export const thenSleep = (script: string): string[] => [
  'sh',
  '-c',
  `trap "exit 0" TERM; ${script}\nsleep 2147483647 & wait`,
];
export const shell = (script: string): string[] => ['sh', '-c', script];

export function container(name: string, rest: Record<string, unknown> = {}): Record<string, unknown> {
  return { name, image: WEB_IMAGE, imagePullPolicy: 'IfNotPresent', command: SLEEP, ...rest };
}

export function pod(
  name: string,
  spec: Record<string, unknown> = {},
  metadata: Partial<PodManifest['metadata']> = {},
): PodManifest {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...metadata },
    spec: { terminationGracePeriodSeconds: 2, containers: [container('main')], ...spec },
  };
}

export const configMap = (name: string, data: Record<string, string>) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data,
});
export const secret = (name: string, stringData: Record<string, string>, type = 'Opaque') => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'default' },
  type,
  data: Object.fromEntries(
    Object.entries(stringData).map(([key, value]) => [key, Buffer.from(value).toString('base64')]),
  ),
});
