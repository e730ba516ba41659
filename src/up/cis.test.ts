import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { applyDefaults } from '../kubelet/model/config/defaults.ts';
import { nodeNameArguments, writeAgentConfig } from './agent.ts';
import { deriveInstance } from './instance.ts';
import { renderKubeletConfig } from './kubelet-config.ts';
import type { NodeFacts } from './testing/cis-checks.ts';
import { failedChecks } from './testing/cis-checks.ts';

const own = { uid: 0, gid: 0 };
const files: NodeFacts['files'] = {
  kubeconfig: { mode: 0o600, ...own },
  config: { mode: 0o600, ...own },
  clientCa: { mode: 0o644, ...own },
};
const configOf = (cluster?: { clientCaFile: string; requestServingCertificate?: boolean }): Record<string, unknown> => {
  const given = {
    runtimeEndpoint: 'unix:///x',
    port: 1,
    healthzPort: 2,
    ...(cluster !== undefined && { cluster: { clusterDns: [], clusterDomain: 'cluster.local', ...cluster } }),
  };
  return parse(renderKubeletConfig(deriveInstance('/data'), given)) as Record<string, unknown>;
};
const args = nodeNameArguments(hostname().toLowerCase());

test('the agent of a cluster of up passes every check of CIS for nodes', () => {
  assert.deepEqual(
    failedChecks({ args, files, config: configOf({ clientCaFile: '/ca.crt', requestServingCertificate: true }) }),
    [],
  );
});

test('an agent that joined another cluster serves with a self-signed certificate, which needs no approval (4.2.9)', () => {
  assert.deepEqual(failedChecks({ args, files, config: configOf({ clientCaFile: '/ca.crt' }) }), ['4.2.9']);
});

test('a standalone node accepts no clients over the network, and so needs no client CA, no authorization and no kubeconfig', () => {
  assert.deepEqual(failedChecks({ args, files: { config: files.config }, config: configOf() }), [
    '4.1.5',
    '4.1.6',
    '4.1.7',
    '4.1.8',
    '4.2.2',
    '4.2.3',
    '4.2.9',
  ]);
});

test('an agent that is only configured with paths passes what upstream’s defaults pass; the operator decides the rest', () => {
  const { authentication, authorization, ...rest } = applyDefaults(
    { authentication: { x509: { clientCAFile: '/ca.crt' } }, rotateCertificates: true },
    () => true,
  );
  assert.deepEqual(failedChecks({ args: [], files, config: { ...rest, authentication, authorization } }), [
    '4.2.9',
    '4.2.12',
    '4.2.13',
    '4.2.14',
  ]);
});

test('each check fails on a node with a weak configuration', () => {
  const loose: NodeFacts = {
    args: [
      '--anonymous-auth=true',
      '--authorization-mode',
      'AlwaysAllow',
      '--read-only-port=10255',
      '--hostname-override=x',
      '--make-iptables-util-chains=false',
      '--event-qps=-1',
      '--rotate-certificates=false',
    ],
    config: {
      streamingConnectionIdleTimeout: '0s',
      featureGates: { RotateKubeletServerCertificate: false },
      tlsCipherSuites: ['TLS_RSA_WITH_AES_128_CBC_SHA'],
      podPidsLimit: -1,
      seccompDefault: false,
    },
    files: {
      kubeconfig: { mode: 0o644, uid: 1, gid: 0 },
      config: { mode: 0o640, uid: 0, gid: 1 },
      clientCa: { mode: 0o664, uid: 1, gid: 1 },
    },
  };
  const all = [
    '4.1.5',
    '4.1.6',
    '4.1.7',
    '4.1.8',
    '4.1.9',
    '4.1.10',
    ...Array.from({ length: 14 }, (_, each) => `4.2.${each + 1}`),
  ];
  assert.deepEqual(failedChecks(loose), all);
});

test('only its owner can read the configuration, even if an older file was readable for others', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'cis-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const instance = deriveInstance(folder);
  writeFileSync(instance.kubeletConfig, '', { mode: 0o644 });
  await writeAgentConfig(instance, 'unix:///x');
  assert.equal(statSync(instance.kubeletConfig).mode & 0o777, 0o600);
});
