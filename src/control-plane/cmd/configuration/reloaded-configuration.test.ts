import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, describe, it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import type { AccessObserver } from '../../model/access-observer.ts';
import { ReloadedConfiguration } from './reloaded-configuration.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'reloaded-'));
after(() => rmSync(folder, { recursive: true }));
const MINUTE_MS = 60_000;

function setUp() {
  const file = path.join(folder, 'configuration');
  writeFileSync(file, 'one');
  const clock = new FakeClock();
  const away = { now: false };
  const [applied, counted]: [string[], unknown[]] = [[], []];
  const none = (): void => undefined;
  const observer: AccessObserver = {
    loaded: (_kind, content) => counted.push(['loaded', content]),
    reloaded: (_kind, content) => counted.push(content ?? 'failure'),
    jwtJudged: none,
    keysFetched: none,
    issuerRemoved: none,
    webhookAsked: none,
    webhookFailedOpen: none,
    conditionsJudged: none,
  };
  const configuration = new ReloadedConfiguration({
    kind: 'authentication',
    file,
    parse: (content) => {
      if (content === 'wrong') throw new Error('it is wrong');
      return content;
    },
    apply: (value) => {
      if (away.now) return Promise.reject(new Error('the issuer is away'));
      applied.push(value);
      return Promise.resolve();
    },
    observer,
    clock,
    log: recordingLog(),
  });
  configuration.start();
  return { clock, away, applied, counted, configuration, write: (text: string) => writeFileSync(file, text) };
}

describe('a file of structured configuration', () => {
  it('counts again when it changes, unless it is wrong', async () => {
    const { clock, applied, counted, configuration, write } = setUp();
    assert.equal(configuration.first, 'one');
    write('two');
    await clock.advance(MINUTE_MS);
    write('wrong');
    await clock.advance(10 * MINUTE_MS);
    write('three');
    await clock.advance(MINUTE_MS);
    assert.deepEqual(applied, ['two', 'three']);
    assert.deepEqual(counted, [['loaded', 'one'], 'two', 'failure', 'three']);
    configuration.stop();
    assert.equal(clock.armedTimers, 0);
  });

  it('is tried again each minute while it cannot be put in force', async () => {
    const { clock, away, applied, counted, configuration, write } = setUp();
    away.now = true;
    write('two');
    await clock.advance(2 * MINUTE_MS);
    away.now = false;
    assert.deepEqual(applied, []);
    await clock.advance(MINUTE_MS);
    assert.deepEqual(applied, ['two']);
    assert.deepEqual(counted, [['loaded', 'one'], 'failure', 'failure', 'two']);
    configuration.stop();
  });
});
