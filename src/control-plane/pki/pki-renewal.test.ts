import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, it } from 'node:test';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { recordingLog } from '../../base/testing/recording-log.ts';
import { ensureClusterPki } from './cluster-pki.ts';
import type { Issued } from './issued-files.ts';
import { createPkiRenewal } from './pki-renewal.ts';

const root = mkdtempSync(path.join(tmpdir(), 'renewal-'));
after(() => rmSync(root, { recursive: true }));

it('a server that runs for a year has a good certificate all the time, and takes one that is put there by hand', async () => {
  const [clock, log] = [new FakeClock(), recordingLog()];
  const startMs = clock.nowMs();
  const of = (folder: string) =>
    ensureClusterPki({
      folder: path.join(root, folder),
      nowMs: clock.nowMs(),
      log,
      serverUrl: 'https://127.0.0.1:6443',
      hostname: 'box',
      addresses: [],
      serviceAddresses: ['10.96.0.1'],
    });
  const first = await of('a');
  const passes: Promise<unknown>[] = [];
  const ensure = (): Promise<unknown> => {
    const pass = of('a');
    passes.push(pass);
    return pass;
  };
  const served: Issued[] = [];
  const folder = path.join(root, 'a', 'pki');
  const renewal = createPkiRenewal({
    folder,
    ensure,
    servingChanged: (pair) => served.push(pair),
    clock,
    random: seededRandom(1),
    log,
  });
  renewal.start();
  const days = async (count: number): Promise<void> => {
    clock.stepWall(count * 86_400_000);
    // Real files are read and written on the way, which virtual time does not wait for.
    await clock.advance(15 * 3_600_000);
    await Promise.all(passes);
    await clock.settle();
    await clock.advance(60_000);
  };
  await days(100);
  assert.equal(served.length, 0);
  await days(250);
  assert.equal(served.length, 1);
  assert.equal(served[0]?.keyPem, first.serving.keyPem);
  assert.ok(new X509Certificate(served[0]?.certificatePem ?? '').validToDate.getTime() > startMs + 400 * 86_400_000);
  const other = await of('b');
  writeFileSync(path.join(folder, 'apiserver.crt'), other.serving.certificatePem);
  await clock.advance(60_000);
  assert.equal(served.length, 1, 'half of a pair is none');
  writeFileSync(path.join(folder, 'apiserver.key'), other.serving.keyPem);
  await clock.advance(60_000);
  assert.equal(served[1]?.certificatePem, other.serving.certificatePem);
  await renewal.stop();
  assert.equal(clock.armedTimers, 0);
});
