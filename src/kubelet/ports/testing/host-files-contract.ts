import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { gunzipSync } from 'node:zlib';
import type { ErrorKind } from '../../../base/errors.ts';
import { errorKind } from '../../../base/errors.ts';
import type { HostFiles } from '../host-files.ts';
import type { Contract } from './contract-test.ts';
import { contractOn } from './contract-test.ts';

export interface HostFilesUnderTest {
  readonly files: HostFiles;
  /** An empty directory to work in. */
  readonly root: string;
  /**
   * Waits for watch events: until `seen` returns true (with a limit), or for a moment if none is expected. The fake
   * needs only one turn of the event loop.
   */
  readonly settle: (seen?: () => boolean) => Promise<void>;
  readonly end: () => Promise<void>;
}

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
const rejects = (kind: ErrorKind, work: Promise<unknown>): Promise<void> =>
  assert.rejects(work, (error) => errorKind(error) === kind);

/** The contract of HostFiles. It runs with the fake and with the real file system. */
export function hostFilesContract(name: string, make: () => Promise<HostFilesUnderTest>): void {
  const contract = contractOn(make);
  describe(`HostFiles contract: ${name}`, () => {
    describeContent(contract);
    describeTree(contract);
    describeShared(contract);
    describeGroups(contract);
    describeWatching(contract);
  });
}

function describeContent(contract: Contract<HostFilesUnderTest>): void {
  contract('written content is read back, with exactly the requested mode', async ({ files, root }) => {
    await files.writeFile(`${root}/a`, 'hello', 0o666);
    assert.equal(await files.readText(`${root}/a`), 'hello');
    assert.equal((await files.lstat(`${root}/a`))?.mode, 0o666);
    await files.writeFile(`${root}/a`, new Uint8Array([104, 105]), 0o600);
    assert.deepEqual([text(await files.readBytes(`${root}/a`)), (await files.stat(`${root}/a`))?.mode], ['hi', 0o600]);
  });
  contract('a file over the limit is Invalid, one of exactly the limit is read', async ({ files, root }) => {
    await files.writeFile(`${root}/a`, '12345', 0o644);
    assert.equal(await files.readText(`${root}/a`, 5), '12345');
    await rejects('Invalid', files.readText(`${root}/a`, 4));
  });
  contract('a missing file is NotFound to read and undefined to stat', async ({ files, root }) => {
    await rejects('NotFound', files.readText(`${root}/none`));
    await rejects('NotFound', files.readText(`${root}/none/deeper`));
    assert.deepEqual(
      [await files.lstat(`${root}/none`), await files.stat(`${root}/none/deeper`)],
      [undefined, undefined],
    );
  });
  contract('a directory cannot be read or overwritten as a file', async ({ files, root }) => {
    await files.makeDirectory(`${root}/d`, 0o755);
    await rejects('Invalid', files.readText(`${root}/d`));
    await rejects('Invalid', files.writeFile(`${root}/d`, 'x', 0o644));
    assert.equal((await files.lstat(`${root}/d`))?.type, 'directory');
  });
  contract('a range is cut at the end of the file', async ({ files, root }) => {
    await files.writeFile(`${root}/a`, '0123456789', 0o644);
    assert.deepEqual(
      [
        text(await files.readRange(`${root}/a`, 2, 3)),
        text(await files.readRange(`${root}/a`, 8, 10)),
        text(await files.readRange(`${root}/a`, 20, 1)),
      ],
      ['234', '89', ''],
    );
  });
  contract(
    'a file beneath a folder is read through links that stay in it, and no link leads out',
    async ({ files, root }) => {
      await files.writeFile(`${root}/secret`, 'of the host', 0o600);
      await files.makeDirectory(`${root}/v/a/b`, 0o755);
      await files.writeFile(`${root}/v/a/b/env`, 'inside', 0o644);
      await files.symlink('a/b', `${root}/v/relative`);
      await files.symlink('/a/b/env', `${root}/v/absolute`);
      await files.symlink('../../../../../../../a', `${root}/v/climbing`);
      await files.symlink('../secret', `${root}/v/up`);
      await files.symlink(`${root}/secret`, `${root}/v/out`);
      await files.symlink('loop', `${root}/v/loop`);
      const read = async (path: string): Promise<string> => text(await files.readBeneath(`${root}/v`, path, 6));
      for (const path of ['a/b/env', '/a//b/./env', 'relative/env', 'absolute', 'climbing/b/env', '../a/b/env'])
        assert.equal(await read(path), 'inside', path);
      for (const path of ['up', 'out', 'none', 'a/none/env', '../secret']) await rejects('NotFound', read(path));
      for (const path of ['loop', 'a', '']) await rejects('Invalid', read(path));
      await rejects('Invalid', files.readBeneath(`${root}/v`, 'absolute', 5));
    },
  );
  contract('ranges, writes and appends do not follow a symlink in the last component', async ({ files, root }) => {
    await files.writeFile(`${root}/victim`, 'precious', 0o644);
    await files.symlink(`${root}/victim`, `${root}/link`);
    await rejects('Invalid', files.readRange(`${root}/link`, 0, 1));
    await rejects('Invalid', files.writeFile(`${root}/link`, 'x', 0o644));
    await rejects('Invalid', files.appendFile(`${root}/link`, 'x'));
    assert.equal(await files.readText(`${root}/victim`), 'precious');
  });
  contract(
    'an atomic write replaces a symlink rather than what it points to, and leaves no temporary file',
    async ({ files, root }) => {
      await files.writeFile(`${root}/victim`, 'precious', 0o644);
      await files.symlink('victim', `${root}/link`);
      await files.writeFileAtomic(`${root}/link`, 'new', 0o640);
      assert.deepEqual(
        [
          await files.readText(`${root}/victim`),
          await files.readText(`${root}/link`),
          (await files.lstat(`${root}/link`))?.type,
        ],
        ['precious', 'new', 'file'],
      );
      assert.deepEqual(await files.list(root), ['link', 'victim']);
      assert.equal((await files.lstat(`${root}/link`))?.mode, 0o640);
    },
  );
  contract('a failed atomic write leaves the target and no temporary file', async ({ files, root }) => {
    await files.makeDirectory(`${root}/d/full`, 0o755);
    await assert.rejects(files.writeFileAtomic(`${root}/d`, 'x', 0o644));
    assert.deepEqual(await files.list(root), ['d']);
    await rejects('NotFound', files.writeFileAtomic(`${root}/none/a`, 'x', 0o644));
  });
  contract('appending creates and extends', async ({ files, root }) => {
    await files.appendFile(`${root}/log`, 'a');
    await files.appendFile(`${root}/log`, 'b');
    assert.equal(await files.readText(`${root}/log`), 'ab');
  });
  contract('gzip keeps the content', async ({ files, root }) => {
    await files.writeFile(`${root}/log`, 'x'.repeat(100_000), 0o640);
    await files.gzip(`${root}/log`, `${root}/log.gz`);
    assert.equal(gunzipSync(await files.readBytes(`${root}/log.gz`)).length, 100_000);
    await rejects('NotFound', files.gzip(`${root}/none`, `${root}/none.gz`));
    await files.symlink('log', `${root}/link`);
    await files.makeDirectory(`${root}/folder`, 0o755);
    await rejects('Invalid', files.gzip(`${root}/link`, `${root}/link.gz`));
    await rejects('Invalid', files.gzip(`${root}/folder`, `${root}/folder.gz`));
  });
}

function describeTree(contract: Contract<HostFilesUnderTest>): void {
  contract(
    'a directory is created with its parents and exactly its mode; repeating it is allowed, replacing a file is not',
    async ({ files, root }) => {
      await files.makeDirectory(`${root}/x/y`, 0o777);
      await files.makeDirectory(`${root}/x/y`, 0o700);
      assert.equal((await files.lstat(`${root}/x/y`))?.mode, 0o777);
      await files.writeFile(`${root}/f`, '', 0o644);
      await rejects('AlreadyExists', files.makeDirectory(`${root}/f`, 0o755));
    },
  );
  contract('listing is sorted, empty for a missing directory, Invalid for a file', async ({ files, root }) => {
    for (const name of ['b', 'a', 'c']) await files.writeFile(`${root}/${name}`, '', 0o644);
    assert.deepEqual(await files.list(root), ['a', 'b', 'c']);
    assert.deepEqual(await files.list(`${root}/none`), []);
    await rejects('Invalid', files.list(`${root}/a`));
  });
  contract('removing a missing file is success, a non-empty directory is a Conflict', async ({ files, root }) => {
    await files.remove(`${root}/none`);
    await files.removeTree(`${root}/none`);
    await files.writeFile(`${root}/d-file`, '', 0o644);
    await files.makeDirectory(`${root}/d/e`, 0o755);
    await rejects('Conflict', files.remove(`${root}/d`));
    await files.remove(`${root}/d/e`);
    await files.remove(`${root}/d`);
    await files.remove(`${root}/d-file`);
    assert.deepEqual(await files.list(root), []);
  });
  contract('a tree is removed without following symlinks out of it', async ({ files, root }) => {
    await files.makeDirectory(`${root}/outside`, 0o755);
    await files.writeFile(`${root}/outside/keep`, 'me', 0o644);
    await files.makeDirectory(`${root}/tree/a/b`, 0o755);
    await files.writeFile(`${root}/tree/a/b/f`, '', 0o644);
    await files.symlink(`${root}/outside`, `${root}/tree/a/out`);
    await files.symlink('nowhere', `${root}/tree/dangling`);
    await files.removeTree(`${root}/tree`);
    assert.deepEqual([await files.list(root), await files.list(`${root}/outside`)], [['outside'], ['keep']]);
  });
  contract('removing a tree that is itself a symlink removes only the link', async ({ files, root }) => {
    await files.makeDirectory(`${root}/outside`, 0o755);
    await files.writeFile(`${root}/outside/keep`, 'me', 0o644);
    await files.symlink('outside', `${root}/link`);
    await files.removeTree(`${root}/link`);
    assert.deepEqual([await files.list(root), await files.list(`${root}/outside`)], [['outside'], ['keep']]);
  });
  contract('rename replaces a file and keeps the inode', async ({ files, root }) => {
    await files.writeFile(`${root}/new`, 'n', 0o644);
    await files.writeFile(`${root}/old`, 'o', 0o644);
    const inode = (await files.lstat(`${root}/new`))?.inode;
    await files.rename(`${root}/new`, `${root}/old`);
    assert.deepEqual(
      [await files.list(root), await files.readText(`${root}/old`), (await files.lstat(`${root}/old`))?.inode],
      [['old'], 'n', inode],
    );
    await rejects('NotFound', files.rename(`${root}/none`, `${root}/x`));
  });
  contract(
    'symlinks are seen by lstat, followed by stat, read back, and never overwritten',
    async ({ files, root }) => {
      await files.writeFile(`${root}/f`, 'abc', 0o644);
      await files.symlink('f', `${root}/l`);
      assert.deepEqual(
        [
          (await files.lstat(`${root}/l`))?.type,
          (await files.stat(`${root}/l`))?.type,
          await files.readLink(`${root}/l`),
          await files.readText(`${root}/l`),
        ],
        ['symlink', 'file', 'f', 'abc'],
      );
      await rejects('AlreadyExists', files.symlink('g', `${root}/l`));
      await rejects('Invalid', files.readLink(`${root}/f`));
      await rejects('NotFound', files.readLink(`${root}/none`));
      await files.symlink('gone', `${root}/dangling`);
      assert.equal(await files.stat(`${root}/dangling`), undefined);
    },
  );
  contract('a loop of symlinks is an error and not an endless walk', async ({ files, root }) => {
    await files.symlink('b', `${root}/a`);
    await files.symlink('a', `${root}/b`);
    await rejects('Invalid', files.readText(`${root}/a`));
  });
  contract('chmod sets exactly, including setgid', async ({ files, root }) => {
    await files.makeDirectory(`${root}/d`, 0o700);
    await files.chmod(`${root}/d`, 0o2770);
    assert.equal((await files.lstat(`${root}/d`))?.mode, 0o2770);
    await rejects('NotFound', files.chmod(`${root}/none`, 0o644));
  });
}

function describeShared(contract: Contract<HostFilesUnderTest>): void {
  const bytes = (content: string): Uint8Array => new TextEncoder().encode(content);
  contract(
    'a new tree is created with its folders, modes and owners, and never replaces anything',
    async ({ files, root }) => {
      const tree = new Map([
        ['a', { content: bytes('1'), mode: 0o400 }],
        ['d/e/b', { content: bytes('2'), mode: 0o666, uid: 77 }],
        ['d/c', { content: bytes('3'), mode: 0o640 }],
      ]);
      await files.makeTree(root, 'tree', tree);
      const seen = await Promise.all(
        ['', '/a', '/d', '/d/e', '/d/e/b', '/d/c'].map(async (name) => {
          const info = await files.lstat(`${root}/tree${name}`);
          return `${name} ${info?.type} ${info?.mode.toString(8)} ${info?.uid}`;
        }),
      );
      assert.deepEqual(seen, [
        ' directory 755 0',
        '/a file 400 0',
        '/d directory 755 0',
        '/d/e directory 755 0',
        '/d/e/b file 666 77',
        '/d/c file 640 0',
      ]);
      assert.deepEqual(
        [await files.readText(`${root}/tree/d/e/b`), await files.readText(`${root}/tree/d/c`)],
        ['2', '3'],
      );
      await rejects('AlreadyExists', files.makeTree(root, 'tree', tree));
      await files.makeDirectory(`${root}/host`, 0o755);
      await files.symlink('host', `${root}/link`);
      await rejects('AlreadyExists', files.makeTree(root, 'link', tree));
      await rejects('NotFound', files.makeTree(`${root}/none`, 'tree', tree));
      assert.deepEqual(await files.list(`${root}/host`), []);
    },
  );
  contract(
    'a directory below an untrusted folder is created only where links stay inside it',
    async ({ files, root }) => {
      await files.makeDirectory(`${root}/v/in`, 0o755);
      await files.makeDirectory(`${root}/host`, 0o755);
      await files.writeFile(`${root}/v/file`, '', 0o644);
      for (const [name, target] of Object.entries({
        inside: 'in',
        out: '../host',
        absolute: `${root}/host`,
        dangling: 'x',
      }))
        await files.symlink(target, `${root}/v/${name}`);
      await files.makeDirectoryBeneath(`${root}/v`, 'inside/a/b', 0o701);
      await files.makeDirectoryBeneath(`${root}/v`, 'inside/a', 0o755);
      assert.deepEqual(
        [(await files.lstat(`${root}/v/in/a`))?.mode, (await files.lstat(`${root}/v/in/a/b`))?.mode],
        [0o701, 0o701],
      );
      for (const bad of ['out/x', 'absolute/x', 'dangling', 'dangling/x', '../x', 'file/x'])
        await rejects('Invalid', files.makeDirectoryBeneath(`${root}/v`, bad, 0o755));
      await rejects('AlreadyExists', files.makeDirectoryBeneath(`${root}/v`, 'file', 0o755));
      assert.deepEqual([await files.list(`${root}/host`), await files.list(root)], [[], ['host', 'v']]);
    },
  );
}

function describeGroups(contract: Contract<HostFilesUnderTest>): void {
  contract(
    'a tree given to a group keeps its mode bits and gains those of the group; links are not followed, in the tree or at its root',
    async ({ files, root }) => {
      await files.makeDirectory(`${root}/v/d`, 0o700);
      await files.writeFile(`${root}/v/d/f`, 'x', 0o4751);
      await files.writeFile(`${root}/outside`, 'x', 0o600);
      await files.symlink('../../outside', `${root}/v/d/link`);
      await files.symlink('v', `${root}/alias`);
      const seen = async (): Promise<unknown[]> =>
        Promise.all(
          ['v', 'v/d', 'v/d/f', 'v/d/link', 'outside'].map(async (name) => {
            const info = await files.lstat(`${root}/${name}`);
            return [info?.gid, info?.type === 'symlink' ? '' : info?.mode.toString(8)];
          }),
        );
      await files.chmod(`${root}/v`, 0o755);
      assert.deepEqual(await files.giveToGroup(`${root}/v`, { gid: 4321, readOnly: false }), {
        entries: 4,
        refused: 0,
      });
      assert.deepEqual(await seen(), [
        [4321, '2775'],
        [4321, '2770'],
        [4321, '4771'],
        [4321, ''],
        [0, '600'],
      ]);
      assert.deepEqual(await files.giveToGroup(`${root}/alias`, { gid: 77, readOnly: true }), {
        entries: 1,
        refused: 0,
      });
      assert.deepEqual(
        [await seen(), (await files.lstat(`${root}/alias`))?.gid],
        [
          [
            [4321, '2775'],
            [4321, '2770'],
            [4321, '4771'],
            [4321, ''],
            [0, '600'],
          ],
          77,
        ],
      );
      assert.deepEqual(await files.giveToGroup(`${root}/v/d/f`, { gid: 78, readOnly: true }), {
        entries: 1,
        refused: 0,
      });
      assert.deepEqual(await files.giveToGroup(`${root}/none`, { gid: 1, readOnly: true }), { entries: 0, refused: 0 });
    },
  );
  contract('modes and owners of a link’s target cannot be changed', async ({ files, root }) => {
    await files.writeFile(`${root}/f`, 'x', 0o600);
    await files.symlink('f', `${root}/l`);
    await rejects('Invalid', files.chmod(`${root}/l`, 0o666));
    await files.chown(`${root}/l`, 5, 6);
    const [link, target] = [await files.lstat(`${root}/l`), await files.lstat(`${root}/f`)];
    assert.deepEqual([link?.uid, link?.gid, target?.uid, target?.gid, target?.mode], [5, 6, 0, 0, 0o600]);
  });
}

function describeWatching(contract: Contract<HostFilesUnderTest>): void {
  contract(
    'a watched directory reports a file moved into place as settled, and its removal',
    async ({ files, root, settle }) => {
      const seen: string[] = [];
      await files.makeDirectory(`${root}/in`, 0o755);
      const stop = files.watch(`${root}/in`, {
        onChange: (name, settled) => seen.push(`${name} ${settled}`),
        onLost: (reason) => seen.push(reason),
      });
      await settle();
      await files.writeFileAtomic(`${root}/in/pod.yaml`, 'kind: Pod', 0o644);
      await settle(() => seen.includes('pod.yaml true'));
      assert.ok(seen.includes('pod.yaml true'), seen.join(', '));
      seen.length = 0;
      await settle();
      seen.length = 0;
      await files.remove(`${root}/in/pod.yaml`);
      await settle(() => seen.includes('pod.yaml true'));
      assert.ok(seen.includes('pod.yaml true'), seen.join(', '));
      stop();
      seen.length = 0;
      await files.writeFileAtomic(`${root}/in/other.yaml`, 'x', 0o644);
      await settle();
      assert.deepEqual(seen, []);
    },
  );
  contract(
    'a watched directory reports a deleted file that exists again as removed, but not one that was moved or replaced',
    async ({ files, root, settle }) => {
      const removed: boolean[] = [];
      await files.makeDirectory(`${root}/in`, 0o755);
      await files.writeFile(`${root}/in/pod.yaml`, 'kind: Pod', 0o644);
      const stop = files.watch(`${root}/in`, {
        onChange: (name, _settled, wasRemoved) => void (name === 'pod.yaml' && removed.push(wasRemoved)),
        onLost: () => undefined,
      });
      await settle();
      await files.remove(`${root}/in/pod.yaml`);
      await files.writeFile(`${root}/in/pod.yaml`, 'kind: Pod', 0o644);
      await settle(() => removed.includes(true));
      assert.ok(removed.includes(true), 'deleted');
      await settle();
      removed.length = 0;
      await files.rename(`${root}/in/pod.yaml`, `${root}/in/pod.yaml~`);
      await settle(() => removed.length > 0);
      await files.writeFile(`${root}/in/pod.yaml`, 'kind: Pod', 0o644);
      await settle();
      await files.writeFileAtomic(`${root}/in/pod.yaml`, 'kind: Pod', 0o644);
      await settle(() => removed.length > 2);
      stop();
      assert.ok(removed.length > 2 && !removed.includes(true), removed.join(', '));
    },
  );
  contract('a file written in place is reported, and not as settled', async ({ files, root, settle }) => {
    const seen: string[] = [];
    await files.makeDirectory(`${root}/in`, 0o755);
    const stop = files.watch(`${root}/in`, {
      onChange: (name, settled) => seen.push(`${name} ${settled}`),
      onLost: () => undefined,
    });
    await settle();
    await files.appendFile(`${root}/in/half.yaml`, 'kind: ');
    await settle(() => seen.length > 0);
    await files.appendFile(`${root}/in/half.yaml`, 'Pod');
    await settle(() => seen.length > 1);
    stop();
    assert.ok(seen.includes('half.yaml false'), seen.join(', '));
    assert.ok(!seen.includes('half.yaml true'), seen.join(', '));
  });
  contract('a watch on a file survives its replacement', async ({ files, root, settle }) => {
    const seen: string[] = [];
    await files.writeFile(`${root}/one`, '1', 0o644);
    const stop = files.watch(`${root}/one`, {
      onChange: (name) => seen.push(`${name}`),
      onLost: (reason) => seen.push(reason),
    });
    await settle();
    await files.writeFile(`${root}/two`, 'unrelated', 0o644);
    await files.writeFileAtomic(`${root}/one`, '2', 0o644);
    await settle(() => seen.length > 0);
    await files.writeFileAtomic(`${root}/one`, '3', 0o644);
    await settle(() => seen.length > 1);
    stop();
    assert.ok(seen.length >= 2 && seen.every((name) => name === 'one'), seen.join(', '));
  });
  contract(
    'a watch ends with a reason when its directory is removed or never existed',
    async ({ files, root, settle }) => {
      const lost: string[] = [];
      await files.makeDirectory(`${root}/in`, 0o755);
      files.watch(`${root}/in`, { onChange: () => undefined, onLost: (reason) => lost.push(reason) });
      files.watch(`${root}/never`, { onChange: () => undefined, onLost: (reason) => lost.push(reason) });
      await settle();
      await files.removeTree(`${root}/in`);
      await settle(() => lost.length === 2);
      assert.equal(lost.length, 2);
      assert.ok(
        lost.some((reason) => reason.startsWith(`${root}/in`)) &&
          lost.some((reason) => reason.startsWith(`${root}/never`)),
        lost.join(', '),
      );
    },
  );
}
