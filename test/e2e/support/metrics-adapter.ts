// A server of custom.metrics.k8s.io and external.metrics.k8s.io, as those who monitor clusters run them.
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { makeWebhookCertificate } from '../../../src/control-plane/admission/testing/webhook-certificate.ts';

export const CUSTOM_METRICS = 'custom.metrics.k8s.io/v1beta2';
export const EXTERNAL_METRICS = 'external.metrics.k8s.io/v1beta1';

export interface MetricsAdapter {
  /** The manifests of a Service and of the APIServices behind which it answers. */
  readonly manifests: readonly string[];
  /** The users who requested values, by path. */
  readonly asked: ReadonlyMap<string, string>;
  close(): void;
}

/** `values`: the items of the list for a path below `/apis/`. */
export async function startMetricsAdapter(
  values: (path: string) => readonly object[] | undefined,
): Promise<MetricsAdapter> {
  const { key, cert } = makeWebhookCertificate(['DNS:localhost']);
  const asked = new Map<string, string>();
  const server = createServer({ key, cert }, (request, response) => {
    const { pathname } = new URL(request.url ?? '', 'https://localhost');
    const path = pathname.replace('/apis/', '');
    const reply = (code: number, body: object): void => {
      response.writeHead(code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    if (path === CUSTOM_METRICS || path === EXTERNAL_METRICS)
      return reply(200, { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: path, resources: [] });
    const items = values(path);
    if (items === undefined) return reply(404, { kind: 'Status', status: 'Failure', message: 'no such metric' });
    asked.set(path, String(request.headers['x-remote-user']));
    reply(200, { items });
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const { port } = server.address() as AddressInfo;
  const apiService = (groupVersion: string): string => {
    const [group = '', version = ''] = groupVersion.split('/');
    return `{apiVersion: apiregistration.k8s.io/v1, kind: APIService, metadata: {name: ${version}.${group}}, spec: {group: ${group}, version: ${version}, groupPriorityMinimum: 100, versionPriority: 100, insecureSkipTLSVerify: true, service: {namespace: default, name: metrics-adapter, port: ${port}}}}`;
  };
  return {
    manifests: [
      '{apiVersion: v1, kind: Service, metadata: {name: metrics-adapter}, spec: {type: ExternalName, externalName: localhost}}',
      apiService(CUSTOM_METRICS),
      apiService(EXTERNAL_METRICS),
    ],
    asked,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
