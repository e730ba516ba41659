import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Connections } from './connections.ts';

class Fixture {
  readonly gone: string[] = [];
  readonly connections = new Connections(4);
  #port = 0;

  open(address: string, inFlight = 0): void {
    const port = ++this.#port;
    this.connections.add({ destroy: () => this.gone.push(`${address}:${port}`) as never }, address, port);
    const added = this.connections.find(address, port);
    if (added !== undefined) added.inFlight = inFlight;
  }
}

test('the oldest idle connection of the address with the most connections is closed first', () => {
  const fixture = new Fixture();
  fixture.open('one');
  fixture.open('many', 1);
  fixture.open('many');
  fixture.open('many');
  fixture.open('other');
  assert.deepEqual(fixture.gone, ['many:3']);
});

test('an idle connection of any address is closed before a busy one', () => {
  const fixture = new Fixture();
  for (const address of ['many', 'many', 'many']) fixture.open(address, 1);
  fixture.open('one');
  fixture.open('other', 1);
  assert.deepEqual(fixture.gone, ['one:4']);
});

test('when all connections are busy, the newest connection of the address with the most connections is closed', () => {
  const fixture = new Fixture();
  for (const address of ['many', 'many', 'many', 'one']) fixture.open(address, 1);
  fixture.open('other', 1);
  assert.deepEqual(fixture.gone, ['many:3']);
  fixture.open('many', 1);
  assert.deepEqual(fixture.gone, ['many:3', 'many:6']);
  assert.equal([...fixture.connections.all].length, 4);
});

test('a closed connection does not count', () => {
  const fixture = new Fixture();
  for (const address of ['a', 'b', 'c', 'd']) fixture.open(address, 1);
  fixture.connections.remove('b', 2);
  fixture.open('e', 1);
  assert.deepEqual(fixture.gone, []);
});
