// A cluster whose operator wants no privileged containers, as kubectl shows it.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';

const privileged = { securityContext: { privileged: true } };
const spec = (container: object = {}): object => ({ containers: [{ name: 'a', image: 'nginx', ...container }] });
const labels = { app: 'a' };
const pod = (name: string, container: object = {}): string =>
  JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: spec(container) });
const workload = (kind: 'DaemonSet' | 'Deployment', container: object): string =>
  JSON.stringify({
    apiVersion: 'apps/v1',
    kind,
    metadata: { name: 'a' },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: spec(container) } },
  });

describe('--allow-privileged=false', () => {
  let cluster: TestCluster;
  before(async () => {
    cluster = await startCluster({ nodes: 1, flags: ['--allow-privileged=false'] });
  });
  after(() => cluster.stop());

  const refusal = async (args: readonly string[], input?: string): Promise<string> => {
    const { code, stdout, stderr } = await cluster.tryKubectl(args, input);
    assert.notEqual(code, 0, `${args.join(' ')} should have failed: ${stdout}`);
    return stderr.trim();
  };

  it('refuses a privileged pod and lets others be', async () => {
    await cluster.kubectl(['create', '-f', '-'], pod('plain'));
    assert.equal(
      await refusal(['create', '-f', '-'], pod('mighty', privileged)),
      'The Pod "mighty" is invalid: spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy',
    );
  });

  it('refuses templates of such pods, when they are created and when they are changed', async () => {
    for (const kind of ['DaemonSet', 'Deployment'] as const) {
      const words =
        'spec.template.spec.containers[0].securityContext.privileged: Forbidden: disallowed by cluster policy';
      assert.ok((await refusal(['create', '-f', '-'], workload(kind, privileged))).endsWith(words));
      await cluster.kubectl(['create', '-f', '-'], workload(kind, {}));
      const patch = JSON.stringify({ spec: { template: { spec: { containers: [{ name: 'a', ...privileged }] } } } });
      assert.ok((await refusal(['patch', kind.toLowerCase(), 'a', '-p', patch])).endsWith(words));
    }
  });

  it('refuses a privileged ephemeral container in a pod that runs', async () => {
    assert.match(
      await refusal(['debug', 'plain', '--image=busybox', '--profile=sysadmin']),
      /spec\.ephemeralContainers\[0\]\.securityContext\.privileged: Forbidden: disallowed by cluster policy/,
    );
  });
});
