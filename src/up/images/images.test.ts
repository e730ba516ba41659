import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { ballastLayer, busyboxImage, pauseImage } from './catalogue.ts';
import { dynamicBusyboxImage, nginxImage } from './debian-images.ts';
import type { OciImage } from './oci-image.ts';
import { buildImage, renameImage, tagOf, writeImageArchive } from './oci-image.ts';
import { buildPauseBinary } from './pause-binary.ts';
import { pushImage } from './registry-push.ts';
import { writeTar } from './tar.ts';

const busybox = { binary: Buffer.from('fake'), applets: ['sh', 'httpd', 'busybox', 'sh'] };

test('a tar archive lists and extracts with the system tar exactly as written', () => {
  const long = `${'d'.repeat(90)}/${'f'.repeat(60)}`;
  const archive = writeTar([
    { kind: 'directory', path: 'a', mode: 0o1777 },
    { kind: 'file', path: 'a/hello', content: 'hello\n', mode: 0o755, uid: 7, gid: 8 },
    { kind: 'symlink', path: 'a/link', target: 'hello' },
    { kind: 'file', path: long, content: 'x' },
  ]);
  assert.equal(archive.length % 512, 0);
  const list = spawnSync('tar', ['-tvf', '-', '--numeric-owner'], {
    input: archive,
    encoding: 'utf8',
    env: { ...process.env, TZ: 'UTC', LC_ALL: 'C' },
  });
  assert.equal(list.stderr, '');
  assert.deepEqual(
    list.stdout
      .trim()
      .split('\n')
      .map((line) => line.replace(/\s+/g, ' ')),
    [
      'drwxrwxrwt 0/0 0 1970-01-01 00:00 a/',
      '-rwxr-xr-x 7/8 6 1970-01-01 00:00 a/hello',
      'lrwxrwxrwx 0/0 0 1970-01-01 00:00 a/link -> hello',
      `-rw-r--r-- 0/0 1 1970-01-01 00:00 ${long}`,
    ],
  );
});

test('a path that is too long for ustar is refused and not cut', () => {
  assert.throws(() => writeTar([{ kind: 'file', path: 'x'.repeat(101), content: '' }]), /too long/);
});

test('images are reproducible: the same content gives the same digests, another command gives another configuration', () => {
  const build = (command: string[]) =>
    buildImage({
      reference: 'a/b:1',
      architecture: 'amd64',
      layers: [[{ kind: 'file', path: 'f', content: 'x' }]],
      command,
    });
  assert.equal(build(['a']).manifest.digest, build(['a']).manifest.digest);
  assert.notEqual(build(['a']).config.digest, build(['b']).config.digest);
  assert.equal(build(['a']).layers[0]?.digest, build(['b']).layers[0]?.digest);
  assert.equal(renameImage(build(['a']), 'c/d:2').manifest.digest, build(['a']).manifest.digest);
});

test('an archive of two images stores their shared layer once and lists both', () => {
  const one = busyboxImage({ reference: 'localhost/x/one:1', nodeArch: 'x64', busybox });
  const two = busyboxImage({ reference: 'localhost/x/two:1', nodeArch: 'x64', busybox, user: 'web' });
  const archive = writeImageArchive([one, two]).toString('latin1');
  assert.equal(archive.split(`blobs/sha256/${one.layers[0]?.digest.slice(7)}`).length - 1, 1);
  assert.match(archive, /"io.containerd.image.name":"localhost\/x\/one:1"/);
  assert.match(archive, /"io.containerd.image.name":"localhost\/x\/two:1"/);
  assert.match(two.config.content.toString(), /"User":"web"/);
});

test('the port of a registry is not read as the tag', () => {
  assert.deepEqual(['h:5000/a', 'h:5000/a:v1', 'a'].map(tagOf), ['latest', 'v1', 'latest']);
});

test('ballast has the requested size and depends on the seed', () => {
  const size = (seed: number) => ballastLayer(1000, seed)[0];
  assert.deepEqual(size(1), size(1));
  assert.notDeepEqual(size(1), { ...size(2), path: 'ballast-1' });
});

test('a processor without a pause program gets a pause image based on busybox', () => {
  assert.match(pauseImage('riscv64', busybox).config.content.toString(), /busybox/);
  assert.match(pauseImage('x64', busybox).config.content.toString(), /\["\/pause"\]/);
});

test('the pause programs are small static executables for their processor', () => {
  for (const [arch, machine] of [
    ['x64', 62],
    ['arm64', 183],
  ] as const) {
    const elf = buildPauseBinary(arch);
    assert.equal(elf.toString('latin1', 0, 4), '\u007fELF');
    assert.equal(elf.readUInt16LE(18), machine);
    assert.equal(elf.readBigUInt64LE(96), BigInt(elf.length));
  }
});

test('the arm64 program is the instructions an assembler gives', () => {
  const code = buildPauseBinary('arm64').subarray(120);
  const word = (index: number) => code.readUInt32LE(index * 4).toString(16);
  // mov x8,#134 · mov x0,#17 · adr x1,+80 · svc #0 · adr x0,+68 (from word 13) · tbnz w0,#31,-24 (back from word 18 to
  // 12)
  assert.deepEqual([0, 1, 2, 5, 13, 18].map(word), [
    'd28010c8',
    'd2800220',
    '10000281',
    'd4000001',
    '10000220',
    '37ffff40',
  ]);
});

test('the pause program waits, and exits with 0 immediately on SIGTERM', {
  skip: process.arch === 'x64' || process.arch === 'arm64' ? false : 'no pause program for this processor',
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kubelet-ts-pause-'));
  try {
    const path = join(folder, 'pause');
    writeFileSync(path, buildPauseBinary(process.arch === 'arm64' ? 'arm64' : 'x64'));
    chmodSync(path, 0o755);
    const child = spawn(path);
    await once(child, 'spawn');
    // Before the program has blocked the signal, it would end the process; /proc shows when it is blocked.
    const exited = once(child, 'exit');
    for (
      let turn = 0;
      turn < 100_000 && !readFileSync(`/proc/${child.pid}/status`, 'utf8').includes('SigBlk:\t0000000000004002');
      turn += 1
    )
      await setImmediate();
    child.kill('SIGTERM');
    assert.deepEqual(await exited, [0, null]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('a push uploads only missing blobs, then the manifest, with the password', async () => {
  const image = busyboxImage({ reference: 'x/y:1', nodeArch: 'x64', busybox });
  const seen: string[] = [];
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      seen.push(
        `${request.method} ${request.url?.replace(/sha256[:%3A]+[0-9a-f]+/, 'D')} ${request.headers.authorization}`,
      );
      if (request.method === 'HEAD')
        response.statusCode = request.url?.endsWith(image.config.digest) === true ? 200 : 404;
      else response.statusCode = request.method === 'POST' ? 202 : 201;
      if (request.method === 'POST') response.setHeader('location', '/v2/y/blobs/uploads/1?state=s');
      response.end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await pushImage({ url, username: 'u', password: 'p' }, image, { repository: 'y', tag: '1' });
    assert.deepEqual(seen, [
      'HEAD /v2/y/blobs/D Basic dTpw',
      'POST /v2/y/blobs/uploads/ Basic dTpw',
      'PUT /v2/y/blobs/uploads/1?state=s&digest=D Basic dTpw',
      'HEAD /v2/y/blobs/D Basic dTpw',
      'PUT /v2/y/manifests/1 Basic dTpw',
    ]);
  } finally {
    server.close();
  }
});

test('a push trusts no answer of the registry but that it has a blob, and fails with its words', async () => {
  const image = busyboxImage({ reference: 'x/y:1', nodeArch: 'x64', busybox });
  const answers: Record<string, number> = { HEAD: 500, POST: 202, PUT: 201 };
  let location: string | undefined = '/v2/y/blobs/uploads/1';
  const server = createServer((request, response) => {
    request.resume();
    response.statusCode = answers[request.method ?? ''] ?? 404;
    if (request.method === 'POST' && location !== undefined) response.setHeader('location', location);
    response.end(request.method === 'HEAD' ? undefined : 'disk is full');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const push = () => pushImage({ url, username: 'u', password: 'p' }, image, { repository: 'y', tag: '1' });
    assert.equal(await push(), image.manifest.digest);
    const refusalWith = async (method: string, status: number): Promise<void> => {
      const before = answers[method] ?? 0;
      answers[method] = status;
      await assert.rejects(push(), { kind: 'Unavailable', message: `registry answered ${status}: disk is full` });
      answers[method] = before;
    };
    await refusalWith('POST', 507);
    await refusalWith('PUT', 400);
    location = undefined;
    await assert.rejects(push(), { message: 'the registry returned no upload location' });
    answers['HEAD'] = 200;
    await refusalWith('PUT', 404);
  } finally {
    server.close();
  }
});

test('nginx and busybox include their shared libraries, nginx also its configuration and an account', () => {
  const program = {
    binary: Buffer.from('program'),
    libraries: [{ path: '/lib64/ld.so', content: Buffer.from('loader') }],
  };
  const options = { reference: 'docker.io/library/x:latest', nodeArch: 'x64', busybox };
  const [nginx, shell] = [nginxImage(options, program), dynamicBusyboxImage(options, program)];
  const text = (image: OciImage): string => image.layers.map(({ content }) => content.toString('latin1')).join();
  for (const image of [nginx, shell]) assert.match(text(image), /lib64\/ld\.so[\s\S]*loader/);
  assert.match(text(nginx), /www-data:x:33/);
  assert.doesNotMatch(text(nginx), /listen \[::\]/);
  assert.match(text(nginxImage(options, program, ['IPv6'])), /listen 80;\s+listen \[::\]:80;/);
  assert.match(nginx.config.content.toString(), /"Cmd":\["nginx","-g","daemon off;"\].*"StopSignal":"SIGQUIT"/);
  assert.match(shell.config.content.toString(), /"Cmd":\["sh"\]/);
});
