import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import { writeHeld } from './held-output.ts';

const CHUNK = Buffer.alloc(64 * 1024, 'x');

/** Accepts no data until it is released. */
function slowClient() {
  const waiting: (() => void)[] = [];
  const client = new Writable({ write: (_data, _encoding, done) => void waiting.push(done) });
  return { client, takeOne: () => waiting.shift()?.(), waiting };
}

async function isDone(writing: Promise<void>): Promise<boolean> {
  return Promise.race([
    writing.then(() => true),
    new Promise<boolean>((resolve) => setImmediate(() => resolve(false))),
  ]);
}

describe('container output', () => {
  it('of up to a megabyte is taken immediately, even if the client is slow', async () => {
    const { client } = slowClient();
    for (let chunk = 0; chunk < 16; chunk++) assert.ok(await isDone(writeHeld(client, CHUNK)));
  });

  it('waits for a slow client when four megabytes are buffered, and continues afterwards', async () => {
    const { client, takeOne, waiting } = slowClient();
    for (let chunk = 0; chunk < 64; chunk++) assert.ok(await isDone(writeHeld(client, CHUNK)), `chunk ${chunk}`);
    const writing = writeHeld(client, CHUNK);
    assert.equal(await isDone(writing), false);
    while (waiting.length > 0) {
      takeOne();
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.ok(await isDone(writing));
    assert.deepEqual([client.listenerCount('drain'), client.listenerCount('close')], [0, 0]);
  });

  it('does not wait for a client that leaves, nor for one that has left', async () => {
    const { client } = slowClient();
    for (let chunk = 0; chunk < 64; chunk++) await writeHeld(client, CHUNK);
    const writing = writeHeld(client, CHUNK);
    client.destroy();
    await writing;
    await writeHeld(client, CHUNK);
    await writeHeld(undefined, CHUNK);
  });
});
