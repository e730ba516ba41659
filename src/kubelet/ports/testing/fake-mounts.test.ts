import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { FakeHostFiles } from './fake-host-files.ts';
import { FakeMounts } from './fake-mounts.ts';
import { mountsContract } from './mounts-contract.ts';

mountsContract('fake', async () => {
  const files = new FakeHostFiles(new FakeClock());
  await files.makeDirectory('/work', 0o755);
  return { files, mounts: new FakeMounts(files), root: '/work', end: async () => undefined };
});
