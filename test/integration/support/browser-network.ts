// A separate network for the browser. Chromium ends its connections when the machine gets or loses a network interface,
// and other tests create one with each pod. In a network namespace with only a loopback device nothing changes; a relay
// connects it to the server of the test at the same address.
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

export interface BrowserNetwork {
  /** Starts the program in the network, with its arguments. */
  readonly executable: string;
  close(): void;
}

/** For a program that connects to one server, on `port` of the loopback address. */
export async function makeBrowserNetwork(program: string, port: number): Promise<BrowserNetwork> {
  const folder = mkdtempSync(path.join(tmpdir(), 'kts-browser-'));
  const at = (name: string): string => path.join(folder, name);
  const relay = relayTo(() => connect(port, '127.0.0.1'));
  await new Promise<void>((resolve) => relay.listen(at('server.sock'), resolve));
  writeFileSync(at('relay.mjs'), relayProgram(at('server.sock'), port));
  const script = [
    '#!/bin/sh',
    // The relay ends with the browser, and does not hold its pipes.
    `[ -n "$IN_NETWORK" ] || exec env IN_NETWORK=1 unshare --net "$0" "$@"`,
    'ip link set lo up || exit 1',
    `setpriv --pdeathsig KILL '${process.execPath}' ${at('relay.mjs')} 3<&- 4>&- >${at('ready')} &`,
    `until [ -s ${at('ready')} ]; do sleep 0.05; done`,
    `exec ${program} "$@"`,
  ];
  writeFileSync(at('browser'), `${script.join('\n')}\n`);
  chmodSync(at('browser'), 0o700);
  return {
    executable: at('browser'),
    close: () => {
      relay.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function relayTo(open: () => Socket): Server {
  return createServer((near) => {
    const far = open();
    near.pipe(far).pipe(near);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => other.destroy());
    }
  });
}

const relayProgram = (socket: string, port: number): string => `
import { connect, createServer } from 'node:net';
createServer((near) => {
  const far = connect(${JSON.stringify(socket)});
  near.pipe(far).pipe(near);
  for (const [one, other] of [[near, far], [far, near]]) {
    one.on('error', () => other.destroy());
    one.on('close', () => other.destroy());
  }
}).listen(${port}, '127.0.0.1', () => console.log('ready'));
`;
