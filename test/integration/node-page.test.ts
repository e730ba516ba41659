// The page of the node in a headless Chromium: a real agent with its containers.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'puppeteer-core';
import { container, pod } from './support/manifests.ts';
import { anyPort, openBrowser, PAGE_TOKEN, signIn } from './support/page-browser.ts';
import { waitUntil } from './support/patience.ts';
import { agentFixture } from './support/suite.ts';

const folder = mkdtempSync(join(tmpdir(), 'kts-page-'));
const tokenFile = join(folder, 'token');
writeFileSync(tokenFile, `${PAGE_TOKEN}\n`, { mode: 0o600 });
const port = await anyPort();
const url = `https://127.0.0.1:${port}`;
const fixture = agentFixture({
  name: 'page',
  agent: { args: [`--cadvisor-port=${port}`, `--cadvisor-token-file=${tokenFile}`] },
});
const problems: string[] = [];
let browser: Browser;
let tab: Page;

before(async () => {
  browser = await openBrowser(url);
  await waitUntil(
    () =>
      ask('/login').then(
        () => true,
        () => false,
      ),
    20_000,
  );
});
after(async () => {
  await browser?.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Answer {
  readonly status: number;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

function ask(path: string, { method = 'GET', headers = {}, body = '' } = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, { method, headers, rejectUnauthorized: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (piece: string) => (text += piece));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: text }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** The text of the first element, once it matches. */
const textOf = (selector: string, pattern: RegExp): Promise<unknown> =>
  tab.waitForFunction(
    (where: string, source: string) =>
      new RegExp(source).test((globalThis as unknown as PageGlobal).document.querySelector(where)?.textContent ?? ''),
    {},
    selector,
    pattern.source,
  );

interface PageGlobal {
  readonly document: { querySelector(selector: string): { readonly textContent: string | null } | null };
}

const limits = { cpu: '200m', memory: '64Mi' };
const busy = container('busy', {
  command: ['sh', '-c', 'echo the first line of its log; trap "exit 0" TERM; while :; do :; done'],
  resources: { requests: { cpu: '50m', memory: '16Mi' }, limits },
});

test('nothing but the login and the files of the page is open without a session', async () => {
  for (const path of ['/api/session', '/api/events', '/api/pods/x', '/api/logs/default/busy/busy'])
    assert.equal((await ask(path)).status, 401, path);
  const page = await ask('/');
  assert.equal(page.status, 200);
  assert.match(String(page.headers['content-security-policy']), /default-src 'none'.*frame-ancestors 'none'/);
  assert.equal((await ask('/assets/..%2f..%2fmain.ts')).status, 400);
  assert.equal((await ask('/assets/main.ts')).status, 404);
  assert.equal((await ask('/metrics')).status, 404);
});

test('a wrong token is refused, and the cookie of the right one is for this address and hidden from scripts', async () => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const wrong = await ask('/login', { method: 'POST', headers, body: 'token=wrong' });
  assert.equal(wrong.status, 401);
  assert.match(wrong.body, /This token is not accepted/);
  const right = await ask('/login', { method: 'POST', headers, body: `token=${PAGE_TOKEN}` });
  assert.equal(right.status, 303);
  const cookie = String(right.headers['set-cookie']);
  assert.match(cookie, /^__Host-kubelet-page=[\w-]{43}; Path=\/; Max-Age=\d+; Secure; HttpOnly; SameSite=Strict$/);
  const session = cookie.split(';')[0] ?? '';
  assert.equal((await ask('/api/session', { headers: { cookie: session } })).status, 200);
  const elsewhere = { ...headers, cookie: session, 'sec-fetch-site': 'cross-site' };
  assert.equal((await ask('/logout', { method: 'POST', headers: elsewhere })).status, 403);
  await ask('/logout', { method: 'POST', headers: { ...headers, cookie: session } });
  assert.equal((await ask('/api/session', { headers: { cookie: session } })).status, 401);
});

test('the page shows the machine, and a running container against its limit', async () => {
  fixture.agent.writeManifest('busy', pod('busy', { containers: [busy] }));
  tab = await signIn(browser, url, PAGE_TOKEN, problems);
  await textOf('#node-name', /^node$/);
  await textOf('[aria-label="CPU"] .value', /\d.*(m|cores?)$/);
  await textOf('[aria-label="Memory"] .value', /\d.*[MG]iB$/);
  await textOf('#pods-list tbody tr .status', /Running 1\/1/);
  await textOf('#pods-list tbody tr .gauge', /\d.*\/ 200.m/);
  await textOf('#pods-list tbody tr .gauge + .gauge', /\d.*iB.*\/ 64.MiB/);
});

test('a pod has its containers, its explanation, its timeline and a log that is followed', async () => {
  await tab.click('#pods-list tbody tr a');
  await textOf('.settled', /Settled/);
  await textOf('.timeline', /Started/);
  await textOf('.log', /the first line of its log/);
  await textOf('article tbody .gauge', /\/ 200.m/);
});

test('a pod that cannot start says why, before it is opened and in its own view', async () => {
  fixture.agent.writeManifest(
    'stuck',
    pod('stuck', { containers: [container('main', { image: 'localhost:1/missing:1', imagePullPolicy: 'Always' })] }),
  );
  await tab.evaluate(`location.hash = '#/pods'`);
  await textOf('#pods-list tbody tr:nth-child(2) .why', /missing:1/);
  await tab.click('#pods-list tbody tr:nth-child(2) a');
  await textOf('.blocker', /Blocked on .*missing:1/);
});

test('a pod that is removed leaves the list without a reload', async () => {
  fixture.agent.removeManifest('stuck');
  await tab.evaluate(`location.hash = '#/pods'`);
  await tab.waitForFunction(`document.querySelectorAll('#pods-list tbody tr').length === 1`);
  assert.deepEqual(problems, []);
});
