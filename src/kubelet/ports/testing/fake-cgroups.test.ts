import { cgroupsContract } from './cgroups-contract.ts';
import { FakeCgroups } from './fake-cgroups.ts';

cgroupsContract('fake', async () => {
  const cgroups = new FakeCgroups();
  const addProcess = async (name: string): Promise<number> => {
    cgroups.addProcess(name, 42);
    return 42;
  };
  return { cgroups, base: '/test', addProcess, settle: async () => undefined, end: async () => undefined };
});
