import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { errorKind } from '../../../base/errors.ts';
import type { HostFiles } from '../host-files.ts';
import type { Mounts } from '../mounts.ts';
import type { Contract } from './contract-test.ts';
import { contractOn } from './contract-test.ts';

export interface MountsUnderTest {
  readonly mounts: Mounts;
  readonly files: HostFiles;
  /** An empty directory to work in. */
  readonly root: string;
  readonly end: () => Promise<void>;
}

/** The contract of Mounts. It runs with the fake and, as root, with the kernel. */
export function mountsContract(name: string, make: () => Promise<MountsUnderTest>): void {
  const contract = contractOn(make);
  describe(`Mounts contract: ${name}`, () => {
    contract(
      'a tmpfs covers a directory until it is unmounted; unmounting twice is allowed',
      async ({ mounts, files, root }) => {
        await files.makeDirectory(`${root}/m`, 0o755);
        await files.writeFile(`${root}/m/below`, 'x', 0o644);
        await mounts.mountTmpfs(`${root}/m`, { sizeBytes: 2 ** 20, mode: 0o700, noswap: true });
        assert.deepEqual([await files.list(`${root}/m`), (await files.stat(`${root}/m`))?.mode], [[], 0o700]);
        await files.writeFile(`${root}/m/f`, 'x', 0o644);
        assert.deepEqual(await mounts.listBelow(root), [{ path: `${root}/m`, fsType: 'tmpfs', source: 'tmpfs' }]);
        await mounts.unmount(`${root}/m`);
        await mounts.unmount(`${root}/m`);
        await mounts.unmount(`${root}/never`);
        assert.deepEqual([await files.list(`${root}/m`), await mounts.listBelow(root)], [['below'], []]);
      },
    );
    contract('a bind shows the source; files of a mounted tree are never removed', async ({ mounts, files, root }) => {
      await files.makeDirectory(`${root}/source`, 0o755);
      await files.makeDirectory(`${root}/tree/target`, 0o755);
      await files.writeFile(`${root}/source/precious`, 'data', 0o644);
      await mounts.bind(`${root}/source`, `${root}/tree/target`, { readOnly: false });
      assert.equal(await files.readText(`${root}/tree/target/precious`), 'data');
      await assert.rejects(files.removeTree(`${root}/tree`), (error) => errorKind(error) === 'Unavailable');
      await assert.rejects(files.removeTree(`${root}/tree/target`), (error) => errorKind(error) === 'Unavailable');
      await mounts.unmount(`${root}/tree/target`);
      await files.removeTree(`${root}/tree`);
      assert.equal(await files.readText(`${root}/source/precious`), 'data');
    });
    contract('a folder made rshared is bound to itself, once', async ({ mounts, files, root }) => {
      await files.makeDirectory(`${root}/agent/pods`, 0o750);
      await mounts.makeRshared(`${root}/agent`);
      await mounts.makeRshared(`${root}/agent`);
      await mounts.makeRshared(`${root}/agent/pods`);
      assert.deepEqual(
        [(await mounts.listBelow(root)).map(({ path }) => path), await files.list(`${root}/agent`)],
        [[`${root}/agent`], ['pods']],
      );
    });
    contract('mounting at a missing path is an error', async ({ mounts, root }) => {
      await assert.rejects(mounts.mountTmpfs(`${root}/none`, {}), (error) => errorKind(error) === 'NotFound');
    });
    contract('a mount that still has one inside is a Conflict to unmount', async ({ mounts, files, root }) => {
      await files.makeDirectory(`${root}/outer`, 0o755);
      await mounts.mountTmpfs(`${root}/outer`, {});
      await files.makeDirectory(`${root}/outer/inner`, 0o755);
      await mounts.mountTmpfs(`${root}/outer/inner`, {});
      await assert.rejects(mounts.unmount(`${root}/outer`), (error) => errorKind(error) === 'Conflict');
      await mounts.unmount(`${root}/outer/inner`);
      await mounts.unmount(`${root}/outer`);
    });
    describeBeneath(contract);
  });
}

function describeBeneath(contract: Contract<MountsUnderTest>): void {
  const volume = async ({ files, root }: MountsUnderTest): Promise<string> => {
    await files.makeDirectory(`${root}/v/dir/deep`, 0o755);
    await files.makeDirectory(`${root}/outside`, 0o755);
    await files.writeFile(`${root}/v/dir/file`, 'inner', 0o644);
    await files.writeFile(`${root}/outside/secret`, 'host', 0o600);
    await files.chmod(`${root}/v`, 0o2775);
    return `${root}/v`;
  };
  contract(
    'a directory or a file of a volume is shown at the target, with parents of the agent’s own',
    async (subject) => {
      const { mounts, files, root } = subject;
      const v = await volume(subject);
      assert.deepEqual(await mounts.bindBeneath({ root: v, subPath: 'dir', target: `${root}/t/sub/0` }), {
        kind: 'mounted',
        reused: false,
      });
      assert.deepEqual(await mounts.bindBeneath({ root: v, subPath: './dir//file', target: `${root}/t/sub/1` }), {
        kind: 'mounted',
        reused: false,
      });
      assert.deepEqual(
        [
          await files.list(`${root}/t/sub/0`),
          await files.readText(`${root}/t/sub/1`),
          (await files.lstat(`${root}/t/sub`))?.mode,
        ],
        [['deep', 'file'], 'inner', 0o750],
      );
      await mounts.unmount(`${root}/t/sub/0`);
      await mounts.unmount(`${root}/t/sub/1`);
      await files.removeTree(`${root}/t`);
      assert.equal(await files.readText(`${v}/dir/file`), 'inner');
    },
  );
  contract('missing components become directories with the mode of the volume', async (subject) => {
    const { mounts, files, root } = subject;
    const v = await volume(subject);
    assert.deepEqual(await mounts.bindBeneath({ root: v, subPath: 'dir/new/er', target: `${root}/t/0` }), {
      kind: 'mounted',
      reused: false,
    });
    assert.deepEqual(
      [
        (await files.lstat(`${v}/dir/new`))?.mode,
        (await files.lstat(`${v}/dir/new/er`))?.mode,
        (await files.lstat(`${v}/dir`))?.mode,
      ],
      [0o2775, 0o2775, 0o755],
    );
  });
  contract('links are followed as long as they stay in the volume', async (subject) => {
    const { mounts, files, root } = subject;
    const v = await volume(subject);
    await files.symlink('dir', `${v}/relative`);
    await files.symlink(`${v}/dir`, `${v}/absolute`);
    await files.symlink('../../v/dir/file', `${v}/dir/around`);
    await files.symlink('../../relative/./deep/..', `${v}/dir/deep/up`);
    for (const [index, subPath] of [
      'relative/file',
      'absolute/file',
      'dir/around',
      'relative/deep/up/file',
    ].entries()) {
      assert.deepEqual(
        await mounts.bindBeneath({ root: v, subPath, target: `${root}/t/${index}` }),
        { kind: 'mounted', reused: false },
        subPath,
      );
      assert.equal(await files.readText(`${root}/t/${index}`), 'inner', subPath);
    }
  });
  contract(
    'paths that lead out, in circles, to nothing or through a file are rejected, and nothing is created',
    async (subject) => {
      const { mounts, files, root } = subject;
      const v = await volume(subject);
      const links = {
        root: '/',
        up: '..',
        passwd: '/etc/passwd',
        sibling: '../outside',
        sly: 'dir/../../outside/secret',
        absolute: `${root}/outside`,
        prefix: `${v}x`,
        loop: 'loop',
        ping: 'pong',
        pong: 'ping',
        dangling: 'nowhere',
        escapee: '../nowhere/else',
      };
      for (const [name, target] of Object.entries(links)) await files.symlink(target, `${v}/${name}`);
      const seen: Record<string, string> = {};
      for (const subPath of [
        ...Object.keys(links),
        'up/outside/secret',
        'sibling/new',
        'dangling/below',
        'dir/file/x',
        '../outside',
        '../../etc',
      ]) {
        const result = await mounts.bindBeneath({ root: v, subPath, target: `${root}/t/0` });
        seen[subPath] = result.kind === 'refused' ? result.step : result.kind;
      }
      assert.deepEqual(seen, {
        ...Object.fromEntries(Object.keys(links).map((name) => [name, 'open'])),
        dangling: 'create',
        'up/outside/secret': 'open',
        'sibling/new': 'open',
        'dangling/below': 'create',
        'dir/file/x': 'open',
        '../outside': 'open',
        '../../etc': 'open',
      });
      assert.deepEqual(
        [
          await files.list(`${root}/outside`),
          await mounts.listBelow(root),
          await files.list(`${root}/t`),
          await files.list(v),
        ],
        [['secret'], [], [], [...Object.keys(links), 'dir'].sort()],
      );
    },
  );
  contract('a matching mount stays, any other is replaced, also by the other kind', async (subject) => {
    const { mounts, files, root } = subject;
    const v = await volume(subject);
    const bind = (subPath: string) => mounts.bindBeneath({ root: v, subPath, target: `${root}/t/0` });
    assert.deepEqual(
      [await bind('dir'), await bind('dir')],
      [
        { kind: 'mounted', reused: false },
        { kind: 'mounted', reused: true },
      ],
    );
    await files.rename(`${v}/dir`, `${v}/old`);
    await files.makeDirectory(`${v}/dir`, 0o755);
    await files.writeFile(`${v}/dir/fresh`, '', 0o644);
    assert.deepEqual(
      [await bind('dir'), await files.list(`${root}/t/0`)],
      [{ kind: 'mounted', reused: false }, ['fresh']],
    );
    assert.deepEqual(
      [await bind('old/file'), await files.readText(`${root}/t/0`)],
      [{ kind: 'mounted', reused: false }, 'inner'],
    );
    assert.deepEqual(
      [await bind('old'), await files.list(`${root}/t/0`), (await mounts.listBelow(root)).length],
      [{ kind: 'mounted', reused: false }, ['deep', 'file'], 1],
    );
  });
  contract('a missing volume is NotFound', async ({ mounts, root }) => {
    await assert.rejects(
      mounts.bindBeneath({ root: `${root}/none`, subPath: 'x', target: `${root}/t/0` }),
      (error) => errorKind(error) === 'NotFound',
    );
  });
}
