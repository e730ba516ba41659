// What is left of a control plane in which something was thrown that nothing caught.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, it } from 'node:test';
import { freePort } from '../../src/up/agent.ts';
import { http2Admin } from './support/http2-admin.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'kts-faulty-'));
const children: ChildProcess[] = [];
after(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

interface Run {
  readonly child: ChildProcess;
  readonly log: () => string;
  readonly exit: Promise<unknown[]>;
}

async function start(port: number): Promise<Run> {
  const child = spawn(
    process.execPath,
    [
      path.join(import.meta.dirname, 'support/faulty-control-plane.ts'),
      `--data-dir=${folder}`,
      `--secure-port=${port}`,
      '--bind-address=127.0.0.1',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  children.push(child);
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (log += text));
  await until(() => log.includes('"serving"') || child.exitCode !== null);
  assert.equal(child.exitCode, null, log);
  return { child, log: () => log, exit: once(child, 'exit') };
}

async function until(holds: () => boolean): Promise<void> {
  for (let looks = 0; !holds(); looks++) {
    if (looks === 3000) assert.fail(`never: ${holds.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

it('a rejected promise is logged and counted; an exception ends the process in order, with all that was written in the store', async () => {
  const port = await freePort(0);
  const run = await start(port);
  const admin = http2Admin({ kubeconfig: path.join(folder, 'super-admin.conf'), port });
  run.child.kill('SIGUSR2');
  await until(() => run.log().includes('a promise of a test'));
  const metrics = (await admin.send({ method: 'GET', path: '/metrics' })).text;
  assert.match(metrics, /^process_unhandled_errors_total\{kind="exception"\} 0$/m);
  assert.match(metrics, /^process_unhandled_errors_total\{kind="rejection"\} 1$/m);
  const { status } = await admin.send({
    method: 'POST',
    path: '/api/v1/namespaces/default/configmaps',
    headers: { 'content-type': 'application/json' },
    body: '{"metadata":{"name":"before"}}',
  });
  assert.equal(status, 201);
  run.child.kill('SIGUSR1');
  assert.deepEqual(await run.exit, [255, null], run.log());
  admin.close();
  assert.match(run.log(), /a handler of a test.*uncaught exception; stopping/);
  assert.match(run.log(), /"stopping"/);
  // A store that was closed in order has put its log into the database.
  assert.deepEqual(
    [existsSync(path.join(folder, 'state.db')), existsSync(path.join(folder, 'state.db-wal'))],
    [true, false],
  );
  const again = await start(port);
  const second = http2Admin({ kubeconfig: path.join(folder, 'super-admin.conf'), port });
  assert.equal(
    (await second.send({ method: 'GET', path: '/api/v1/namespaces/default/configmaps/before' })).status,
    200,
  );
  second.close();
  again.child.kill('SIGTERM');
  assert.deepEqual(await again.exit, [0, null]);
});
