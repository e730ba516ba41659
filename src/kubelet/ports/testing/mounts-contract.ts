import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { errorKind } from '../../../base/errors.ts';
import type { HostFiles } from '../host-files.ts';
import type { Mounts } from '../mounts.ts';

export interface MountsUnderTest {
  mounts: Mounts;
  files: HostFiles;
  /** An empty directory to work in. */
  root: string;
  end: () => Promise<void>;
}

/** What every Mounts promises; run on the fake and, as root, on the kernel. */
export function mountsContract(name: string, make: () => Promise<MountsUnderTest>): void {
  const contract = (sentence: string, body: (subject: MountsUnderTest) => Promise<void>): void => {
    test(sentence, async () => {
      const subject = await make();
      try {
        await body(subject);
      } finally {
        await subject.end();
      }
    });
  };
  describe(`Mounts contract: ${name}`, () => {
    contract('a tmpfs covers a directory until it is unmounted; unmounting twice is fine', async ({ mounts, files, root }) => {
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
    });
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
    contract('mounting where nothing is, is an error', async ({ mounts, root }) => {
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
  });
}
