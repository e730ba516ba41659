import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { deriveInstance } from './instance.ts';
import { prepareNodePage } from './node-page.ts';

const folder = mkdtempSync(join(tmpdir(), 'kts-page-unit-'));
after(() => rmSync(folder, { recursive: true, force: true }));

describe('the page of the node of `up`', () => {
  it('has a token that only root can read, the same at each start', async () => {
    const instance = deriveInstance(folder);
    const first = await prepareNodePage(instance, '127.0.0.3');
    const token = readFileSync(first.tokenFile, 'utf8');
    assert.match(token, /^[\w-]{32}\n$/);
    assert.equal(statSync(first.tokenFile).mode & 0o777, 0o600);
    await prepareNodePage(instance, '127.0.0.3');
    assert.equal(readFileSync(first.tokenFile, 'utf8'), token);
  });

  it('is served on another port if the usual one is taken', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(4194, '127.0.0.4', resolve));
    const { url, args } = await prepareNodePage(deriveInstance(folder), '127.0.0.4');
    server.close();
    const port = /^https:\/\/127\.0\.0\.4:(\d+)\/$/.exec(url)?.[1];
    assert.notEqual(port, '4194');
    assert.equal(args[0], `--cadvisor-port=${port}`);
  });
});
