import assert from 'node:assert/strict';
import type { ChildProcess } from 'node:child_process';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';

const kubelet = fileURLToPath(new URL('../../../bin/kubelet', import.meta.url));
const folder = mkdtempSync('/tmp/kubelet-main-');
/** A runtime that refuses every call immediately. */
const runtime = http2
  .createServer()
  .on('stream', (stream: http2.ServerHttp2Stream) =>
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '12' }, { endStream: true }),
  );
before(() => new Promise<void>((resolve) => void runtime.listen(`${folder}/runtime.sock`, resolve)));
after(() => {
  runtime.close();
  // An agent leaves its root directory mounted, for the sake of what runs.
  const mounted = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '');
  for (const path of mounted.filter((candidate) => candidate.startsWith(`${folder}/`))) spawnSync('umount', [path]);
  rmSync(folder, { recursive: true, force: true });
});

interface Run {
  readonly child: ChildProcess;
  readonly out: () => string;
  readonly ended: Promise<{ code: number | null; out: string; error: string }>;
}

function run(...args: string[]): Run {
  const child = spawn(kubelet, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, KUBELET_FROM_SOURCE: '1' },
  });
  let out = '';
  let error = '';
  child.stdout?.on('data', (chunk) => (out += String(chunk)));
  child.stderr?.on('data', (chunk) => (error += String(chunk)));
  const ended = once(child, 'close').then(([code]) => ({ code: code as number | null, out, error }));
  return { child, out: () => out + error, ended };
}

/** An agent with the runtime that refuses every call, in its own folder. */
function agent(name: string, ...more: string[]): Run {
  const root = `${folder}/${name}`;
  return run(
    '--fail-cgroupv1=false',
    '--cgroups-per-qos=false',
    '--enforce-node-allocatable=',
    '--root-dir',
    root,
    '--cli-socket',
    `${folder}/${name}.sock`,
    '--container-runtime-endpoint',
    `unix://${folder}/runtime.sock`,
    '--healthz-port',
    '0',
    ...more,
  );
}
const lastLine = (text: string): string => text.trimEnd().split('\n').at(-1) ?? '';

async function says(running: Run, needle: RegExp): Promise<void> {
  const { child } = running;
  while (!needle.test(running.out())) {
    if (child.exitCode !== null) assert.fail(`ended without ${needle} in its output:\n${running.out()}`);
    await Promise.race([once(child.stderr as NodeJS.EventEmitter, 'data'), running.ended]);
  }
}

describe('the kubelet command', { concurrency: 3 }, () => {
  it('prints its version and its help, and ends well', async () => {
    const [version, help] = await Promise.all([run('--version').ended, run('--help').ended]);
    assert.deepEqual([version.code, version.error], [0, '']);
    assert.match(version.out, /^Kubernetes v1\.36/);
    assert.equal(help.code, 0);
  });

  it('ends with 1 and one line for an unknown flag', async () => {
    const { code, error } = await run('--no-such-flag').ended;
    assert.equal(code, 1);
    assert.match(error, /no-such-flag/);
  });

  it('ends with 1 and says file, line and field for what the configuration does not know', async () => {
    const file = `${folder}/config.yaml`;
    writeFileSync(file, 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nnoSuchField: 1\n');
    const { code, error } = await run('--config', file).ended;
    assert.equal(code, 1);
    assert.match(error, /config\.yaml:3.*noSuchField/s);
  });

  it('says without a stack why it cannot start: the root directory, the token of the manifest server', async () => {
    writeFileSync(`${folder}/file`, '');
    const [root, token] = await Promise.all([
      agent('file/below').ended,
      agent('token', '--manifest-server-address', '127.0.0.1:1', '--manifest-server-token-file', `${folder}/no-token`)
        .ended,
    ]);
    assert.deepEqual([root.code, token.code], [1, 1]);
    assert.match(lastLine(root.error), /^kubelet: the root directory .*\/file\/below cannot be used: .*ENOTDIR/);
    assert.match(lastLine(token.error), /^kubelet: manifest server: token file .*no-token does not exist/);
  });

  it('runs while its runtime does nothing, says which port it did not get, and leaves with 0 when asked to', async () => {
    const taken = net.createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    mkdirSync(`${folder}/manifests`);
    const running = agent(
      'good',
      '--healthz-port',
      String((taken.address() as net.AddressInfo).port),
      '--pod-manifest-path',
      `${folder}/manifests`,
    );
    await says(running, /agent is running/);
    // As pgrep and pidof look for a kubelet. Its arguments stay readable.
    const file = (name: string): string => readFileSync(`/proc/${running.child.pid}/${name}`, 'utf8');
    assert.equal(file('comm'), 'kubelet\n');
    const [name, ...args] = file('cmdline').split('\0');
    assert.equal(name, kubelet);
    assert.equal(args[args.indexOf('--healthz-port') + 1], '0');
    assert.match(running.out(), /a server of the agent cannot listen; pods are not affected.*EADDRINUSE/);
    const explained = await run('explain', '--socket', `${folder}/good.sock`).ended;
    assert.equal(explained.code, 1);
    assert.match(explained.out, /no pod is started or changed: .*runtime/);
    running.child.kill('SIGTERM');
    assert.equal((await running.ended).code, 0);
    taken.close();
  });

  it('gives all it has to a reader that takes its time, and no error to one that has enough', async () => {
    const items = Array.from({ length: 500 }, (_, index) => ({
      metadata: { name: `pod-${index}`, namespace: 'x'.repeat(1000) },
      spec: { containers: [] },
    }));
    const server = http
      .createServer((request, response) => response.end(JSON.stringify(request.url === '/pods' ? { items } : [])))
      .listen(`${folder}/many.sock`);
    const list = `${kubelet} pods -o json --socket ${folder}/many.sock`;
    const shell = spawn('sh', ['-c', `${list} | (sleep 2; wc -c); ${list} | head -c 10 >/dev/null`], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, KUBELET_FROM_SOURCE: '1' },
    });
    let [out, error] = ['', ''];
    shell.stdout.on('data', (chunk) => (out += String(chunk)));
    shell.stderr.on('data', (chunk) => (error += String(chunk)));
    await once(shell, 'close');
    server.close();
    assert.ok(Number(out) > 500_000, `${out.trim()} bytes came through`);
    assert.equal(error, '');
  });

  it('leaves at once when it is asked to while it starts', async () => {
    const running = agent('starting', '--container-runtime-endpoint', `unix://${folder}/none.sock`);
    await says(running, /kubelet\]/);
    running.child.kill('SIGINT');
    assert.equal((await running.ended).code, 0);
  });
});
