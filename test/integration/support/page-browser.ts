// The page of the node in a headless Chromium.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { launch } from 'puppeteer-core';
import type { Browser, Page } from 'puppeteer-core';
import { silentLogger } from '../../../src/base/log.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { readPageAsset } from '../../../src/kubelet/adapters/files/page-assets.ts';
import { refuseClient } from '../../../src/kubelet/adapters/net/serve-app.ts';
import { listenSecurely } from '../../../src/kubelet/adapters/tls/secure-listen.ts';
import { selfSignedPair } from '../../../src/kubelet/cmd/testing/self-signed-pair.ts';
import { createPage } from '../../../src/kubelet/features/page/create-page.ts';
import type { NodePage } from '../../../src/kubelet/features/page/create-page.ts';
import type { ReadLog } from '../../../src/kubelet/features/page/log-streams.ts';
import type { PageSources } from '../../../src/kubelet/features/page/page-sources.ts';
import { makeBrowserNetwork } from './browser-network.ts';
import { patientMs } from './patience.ts';

export const PAGE_TOKEN = 'a-token-of-this-test-0123456789';
const axeFile = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** A browser that can reach the page and nothing else. */
export async function openBrowser(url: string): Promise<Browser> {
  const network = await makeBrowserNetwork('/usr/bin/chromium-headless-shell', Number(new URL(url).port));
  const browser = await launch({
    executablePath: network.executable,
    acceptInsecureCerts: true,
    pipe: true,
    // The tests run as root, where Chromium has no sandbox. It loads only the page under test.
    args: ['--no-sandbox', '--disable-gpu', '--force-color-profile=srgb', '--lang=en-US'],
  });
  browser.once('disconnected', () => network.close());
  return browser;
}

export interface ServedPage {
  readonly url: string;
  readonly page: NodePage;
  close(): Promise<void>;
}

/** Serves the page of these sources on a port of the loopback address. */
export async function servePage(sources: PageSources, readLog: ReadLog): Promise<ServedPage> {
  const page = createPage({
    sources,
    readLog,
    readAsset: readPageAsset,
    guard: undefined,
    token: PAGE_TOKEN,
    clock: systemClock,
    random: systemRandom,
    log: silentLogger,
  });
  const pair = selfSignedPair(Date.now());
  const listening = await listenSecurely({
    host: '127.0.0.1',
    port: 0,
    tls: { cipherSuites: [], minVersion: '', curvePreferences: [] },
    identity: () => pair,
    clientAuthorities: undefined,
    onChange: () => () => undefined,
    guard: page.guard,
    fetch: (request) => page.app.fetch(request),
    openStream: ({ socket }) => refuseClient(socket, { status: 404, body: '' }),
    clock: systemClock,
    log: silentLogger,
  });
  return {
    url: `https://127.0.0.1:${listening.port}`,
    page,
    close: async () => {
      page.feed.stop();
      await listening.close();
    },
  };
}

/** A tab that has signed in and shows the node. Fails the test on an error in the page or a policy violation. */
export async function signIn(browser: Browser, url: string, token: string, problems: string[]): Promise<Page> {
  const context = await browser.createBrowserContext();
  const tab = await context.newPage();
  tab.setDefaultTimeout(patientMs(20_000));
  await tab.setViewport({ width: 1440, height: 900 });
  tab.on('pageerror', (error) => problems.push(String(error)));
  tab.on('console', (message) => {
    if (message.type() === 'error') problems.push(message.text());
  });
  await tab.goto(`${url}/login`);
  await tab.type('#token', token);
  await Promise.all([tab.waitForNavigation({ waitUntil: 'domcontentloaded' }), tab.click('button[type=submit]')]);
  await whenLive(tab);
  return tab;
}

async function whenLive(tab: Page): Promise<void> {
  await tab.waitForSelector('.live.is-live').catch(async () => {
    throw new Error(`the page is not live: ${String(await tab.evaluate('document.body.innerText'))}`);
  });
}

export async function reload(tab: Page): Promise<void> {
  await tab.reload();
  await whenLive(tab);
}

export interface AxeViolation {
  readonly id: string;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[];
}

/** The rules of WCAG 2.2 A and AA that the page violates, according to axe. */
export async function accessibilityProblems(tab: Page): Promise<string[]> {
  const isThere = await tab.evaluate('typeof axe');
  if (isThere === 'undefined') await tab.evaluate(readFileSync(axeFile, 'utf8'));
  const found = (await tab.evaluate(
    `axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }).then(({ violations }) => violations)`,
  )) as AxeViolation[];
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')} ${failureSummary ?? ''}`),
  );
}

interface TreeNode {
  readonly ignored: boolean;
  readonly role?: { readonly value?: string };
  readonly name?: { readonly value?: string };
}

/** The accessibility tree as lines of role and name. */
export async function accessibilityTree(tab: Page): Promise<string[]> {
  const client = await tab.createCDPSession();
  const { nodes } = (await client.send('Accessibility.getFullAXTree')) as { nodes: readonly TreeNode[] };
  await client.detach();
  return nodes
    .filter(({ ignored }) => !ignored)
    .map(({ role, name }) => {
      const text = (name?.value ?? '').replace(/\s+/g, ' ').trim();
      return text === '' ? (role?.value ?? '') : `${role?.value ?? ''} "${text}"`;
    });
}

/** A port that was free just now. */
export function anyPort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
